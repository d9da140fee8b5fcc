// Which kernels are proven to be divisible.
#include "client/split/proof_verdicts.h"

namespace remotecl::proof {
namespace {

struct Divisible {
  const char* name;
  std::uint32_t dimension;
  std::vector<std::optional<std::int64_t>> values;
  const char* source;  // of a kernel k
  const char* parts;   // argument:w if written:item bytes:before:after, or argument:whole
};

void PrintTo(const Divisible& one, std::ostream* out) { *out << one.name; }

class DivisibleTest : public ::testing::TestWithParam<Divisible> {};

TEST_P(DivisibleTest, IsProven) {
  const Divisible& one = GetParam();
  const Proof proof(one.source, "-cl-std=CL2.0 -DTWO=2 -D THREE=3u", "k");
  EXPECT_EQ(text(proof.divide(launch(one.dimension, one.values))), one.parts) << one.source;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, DivisibleTest,
    ::testing::Values(Divisible{"AddInPlace",
                                0,
                                {kNo, 5},
                                "kernel void k(global int* data, int value) {"
                                " data[get_global_id(0)] += value; }",
                                "0:w:4:0:0"},
                      Divisible{"Variables",
                                0,
                                {kNo, kNo, kNo},
                                R"(
          __kernel void k(__global const float* a, __global const float* b, __global float* c) {
            const size_t i = get_global_id(0);
            c[i] = a[i] + b[i];
          })",
                                "0:4:0:0 1:4:0:0 2:w:4:0:0"},
                      Divisible{"Guard",
                                0,
                                {kNo, 90},
                                R"(
          kernel void k(global int* data, int n) {
            int i = get_global_id(0);
            if (i >= n) return;
            data[i] = i;
          })",
                                "0:w:4:0:0"},
                      Divisible{"Rows",
                                1,
                                {kNo, 100, kNo},
                                R"(
          kernel void k(global int* matrix, int width, global const int* factors) {
            const int x = get_global_id(0), y = get_global_id(1);
            matrix[y * width + x] = y * factors[x];
          })",
                                "0:w:400:0:0 2:whole"},
                      Divisible{"RowsOfARangeThatIsTooLarge",
                                1,
                                {kNo, 97, 40},
                                R"(
          kernel void k(global int* matrix, int width, int height) {
            const int x = get_global_id(0), y = get_global_id(1);
            if (x < width && y < height) matrix[y * width + x] = y;
          })",
                                "0:w:388:0:0"},
                      Divisible{"RowsOfARangeThatIsTooLargeWithReturn",
                                1,
                                {kNo, 97, 40},
                                R"(
          kernel void k(global int* matrix, const uint width, const uint height) {
            const uint x = get_global_id(0), y = get_global_id(1);
            if (x >= width || y >= height) { return; }
            matrix[x + y * width] = y;
          })",
                                "0:w:388:0:0"},
                      Divisible{"MatrixProduct",
                                1,
                                {kNo, kNo, kNo, 100, 33},
                                R"(
          #define REAL float
          kernel void k(global const REAL* a, global const REAL* b, global REAL* c, int n, int m) {
            int col = get_global_id(0);
            int row = get_global_id(1);
            REAL sum = 0.0f;
            for (int i = 0; i < m; i++) sum += a[row * m + i] * b[i * n + col];
            c[row * n + col] = sum;
          })",
                                "0:132:0:0 1:whole 2:w:400:0:0"},
                      Divisible{"Neighbours",
                                0,
                                {kNo, kNo, 100},
                                R"(
          kernel void k(global const int* from, global int* to, int count) {
            const int i = get_global_id(0);
            to[i] = (i > 0 ? from[i - 1] : 0) + from[i] + (i + 1 < count ? from[i + 1] : 0);
          })",
                                "0:4:1:1 1:w:4:0:0"},
                      Divisible{"UnsignedNeighbours",
                                0,
                                {kNo, kNo},
                                R"(
          kernel void k(global const int* from, global int* to) {
            size_t i = get_global_id(0);
            if (i > 0) to[i] = from[i - 1];
          })",
                                "0:4:1:0 1:w:4:0:0"},
                      // Without the guard, the first item would read far away.
                      Divisible{"UnsignedNeighboursThatMayWrap",
                                0,
                                {kNo, kNo},
                                R"(
          kernel void k(global const int* from, global int* to) {
            uint i = get_global_id(0);
            to[i] = from[i - 1];
          })",
                                "0:whole 1:w:4:0:0"},
                      Divisible{"ItemsOfALoop",
                                0,
                                {kNo, 7, kNo},
                                R"(
          kernel void k(global float* out, int count, global const float* in) {
            int i = get_global_id(0);
            for (int j = 0; j < count; ++j) { out[i * count + j] = in[i] * j; }
          })",
                                "0:w:28:0:0 2:4:0:0"},
                      Divisible{"Pixels",
                                1,
                                {kNo, kNo, 100},
                                R"(
          kernel void k(global const uchar* in, global uchar* out, int w) {
            int x = get_global_id(0), y = get_global_id(1);
            int at = (y * w + x) * 4;
            for (int c = 0; c <= 2; c++) out[at + c] = 255 - in[at + c];
            out[at + 3] = in[at + 3];
          })",
                                "0:400:0:0 1:w:400:0:0"},
                      Divisible{"Vectors",
                                0,
                                {kNo, kNo},
                                R"(
          kernel void k(global float4* p, constant float4* force) {
            uint i = get_global_id(0);
            float4 one = p[i];
            one.xy += force[0].zw;
            p[i] = one;
            p[i].w = 1.0f;
          })",
                                "0:w:16:0:0 1:whole"},
                      Divisible{"VectorsOfThree",
                                0,
                                {kNo},
                                "kernel void k(global float3* p) { p[get_global_id(0)] = (float3)(1, 2, 3); }",
                                "0:w:16:0:0"},
                      Divisible{"WrittenOnlyWithoutConst",
                                0,
                                {kNo, kNo},
                                R"(
          kernel void k(global float* in, global float* out) { out[get_global_id(0)] = in[0]; })",
                                "0:whole 1:w:4:0:0"},
                      Divisible{"NumbersByName",
                                0,
                                {kNo},
                                R"(
          #define FOUR (4)
          #pragma OPENCL EXTENSION cl_khr_fp64 : enable
          kernel void k(global double* out) {
            size_t i = get_global_id(0);
            out[i * FOUR + TWO] = 1; /* a comment */
            out[FOUR * i + THREE] = M_PI;  // another one \
            out[0] = 5;
          })",
                                "0:w:32:0:0"},
                      Divisible{"Shifts",
                                0,
                                {kNo},
                                R"(
          kernel void k(global int* out) { int i = get_global_id(0) << 1; out[i] = 1; out[i + 1] = 2; })",
                                "0:w:8:0:0"},
                      Divisible{"PrivateArrays",
                                0,
                                {kNo, kNo},
                                R"(
          kernel void k(global int* out, global const int* in) {
            int i = get_global_id(0), best[4] = {0, 0, 0, 0};
            for (int j = 0; j < 1000; j++) { int at = 3; while (at > 0 && best[at - 1] < in[j]) { best[at] = best[at - 1]; --at; } }
            out[i] = best[0];
          })",
                                "0:w:4:0:0 1:whole"},
                      Divisible{"GraphByItsEdges",
                                0,
                                {kNo, kNo, kNo, kNo, 100},
                                R"(
          kernel void k(global const int* rows, global const int* columns, global const float* x, global float* y, int n) {
            int row = get_global_id(0);
            if (row < n) {
              float sum = 0;
              for (int at = rows[row]; at < rows[row + 1]; ++at) sum += x[columns[at]];
              y[row] = sum;
            }
          })",
                                "0:4:0:1 1:whole 2:whole 3:w:4:0:0"},
                      Divisible{"AnotherKernelBesideIt",
                                0,
                                {kNo},
                                R"(
          #define SQUARE(x) ((x) * (x))
          float helper(float x) { return SQUARE(x); }
          kernel void other(global int* a) { local int b[4]; barrier(CLK_LOCAL_MEM_FENCE); a[0] = SQUARE(2); }
          __attribute__((reqd_work_group_size(8, 1, 1)))
          kernel void k(global float* a) { a[get_global_id(0)] = sqrt(2.0f); })",
                                "0:w:4:0:0"},
                      Divisible{"Offsets",
                                0,
                                {kNo},
                                "kernel void k(global int* a) { a[(int)get_global_id(0)] = get_global_id(1); }",
                                "0:w:4:0:0"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(ProofTest, BuildOptionsThatAreNotFollowedAreNamed) {
  const char* const source = "kernel void k(global int* a) { a[get_global_id(0) * N] = 0; }";
  const auto verdict = [&](const char* options) { return text(Proof(source, options, "k").divide(launch(0, {kNo}))); };
  EXPECT_EQ(verdict("-DN=1 -cl-fast-relaxed-math -I /tmp"), "0:w:4:0:0");
  EXPECT_EQ(verdict("-D N"), "0:w:4:0:0");
  EXPECT_NE(verdict("-DN=M").find("'M'"), std::string::npos) << verdict("-DN=M");
  EXPECT_NE(verdict("-DN=1+1").find("'N': this macro"), std::string::npos) << verdict("-DN=1+1");
  EXPECT_NE(verdict("-DN=1 -include x.h").find("'-include' is not known"), std::string::npos);
  EXPECT_NE(verdict("-DN=\"1\"").find("quoted build options"), std::string::npos);
}

}  // namespace
}  // namespace remotecl::proof
