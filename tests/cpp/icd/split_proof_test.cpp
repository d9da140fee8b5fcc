// remotecl_enqueue_split without slices: those that follow from a kernel's source, on two servers.
#include "icd/fixture.h"
#include "icd/library.h"
#include "icd/statistics.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kWidth = 96, kRows = 500, kItems = kWidth * kRows;

constexpr char kProvableSource[] = R"(
#define RADIUS 1
kernel void mean(global const float* from, global float* to, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int row = max(y - RADIUS, 0); row <= min(y + RADIUS, height - 1); ++row) sum += from[row * width + x];
  to[y * width + x] = sin(sum) / 3.0f;
}
kernel void product(global const float* a, global const float* b, global float* c, int n) {
  const int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[row * n + i] * b[i * n + column];
  c[row * n + column] = sum;
}
kernel void differences(global float* from, global float* to, int count) {
  const int i = get_global_id(0);
  to[i] = i + 1 < count ? from[i + 1] - from[i] : 0;
}
kernel void scatter(global int* to, global const int* from) { to[from[get_global_id(0)]] = 1; }
)";

class SplitProofTest : public RemoteTest {
 protected:
  using Sizes = std::vector<std::size_t>;

  cl_int split(cl_kernel kernel, cl_uint dimension, const Sizes& global) {
    return split_(2, queues_, kernel, dimension, static_cast<cl_uint>(global.size()), nullptr, global.data(), nullptr,
                  0, nullptr, 0, nullptr, nullptr);
  }
  std::string why_not(cl_kernel kernel, cl_uint dimension, const Sizes& global) {
    const auto explain = library_function<decltype(remotecl_explain_split)>("remotecl_explain_split");
    char* const text =
        explain(2, queues_, kernel, dimension, static_cast<cl_uint>(global.size()), nullptr, global.data());
    const std::string why = text == nullptr ? "" : text;
    library_function<decltype(remotecl_free)>("remotecl_free")(text);
    return why;
  }
  cl_program provable() {
    if (provable_ == nullptr) provable_ = build(context_, kProvableSource);
    return provable_;
  }
  static std::vector<float> floats() {
    std::vector<float> values(kItems);
    for (std::size_t i = 0; i < kItems; ++i) values[i] = static_cast<float>(i * 7919 % 1000) / 7;
    return values;
  }
  // What one device and what both compute into the buffer that is argument `output`.
  void expect_the_same(cl_kernel kernel, cl_uint output, cl_uint dimension, const Sizes& global) {
    std::vector<std::vector<float>> results;
    for (const bool divided : {false, true}) {
      const Owned<cl_mem> to = make_buffer(context_, std::vector<float>(kItems, -1));
      check(set_arg(kernel, output, to));
      EXPECT_EQ(why_not(kernel, dimension, global), "");
      check(divided ? split(kernel, dimension, global)
                    : clEnqueueNDRangeKernel(queue_, kernel, static_cast<cl_uint>(global.size()), nullptr,
                                             global.data(), nullptr, 0, nullptr, nullptr));
      results.push_back(read<float>(divided ? other_ : queue_, to, kItems));
    }
    EXPECT_EQ(results[0], results[1]);
  }

  const cl_command_queue queues_[2] = {queue_, other_};
  const std::function<decltype(remotecl_enqueue_split)> split_ =
      library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");

 private:
  Owned<cl_program> provable_;
};

TEST_F(SplitProofTest, RowsOfARangeThatIsLargerThanTheImage) {
  const Owned<cl_kernel> mean = make_kernel(provable(), "mean");
  const Owned<cl_mem> from = make_buffer(context_, floats());
  check(set_arg(mean, 0, from));
  check(set_arg(mean, 2, static_cast<int>(kWidth)));
  check(set_arg(mean, 3, static_cast<int>(kRows)));
  expect_the_same(mean, 1, 1, {kWidth + 32, kRows + 12});
}

TEST_F(SplitProofTest, AMatrixProduct) {
  const Owned<cl_kernel> product = make_kernel(provable(), "product");
  const Owned<cl_mem> a = make_buffer(context_, floats()), b = make_buffer(context_, floats());
  check(set_arg(product, 0, a));
  check(set_arg(product, 1, b));
  check(set_arg(product, 3, static_cast<int>(kWidth)));
  expect_the_same(product, 2, 1, {kWidth, kWidth});
}

TEST_F(SplitProofTest, NeighboursInABufferThatCouldBeWritten) {
  const Owned<cl_kernel> differences = make_kernel(provable(), "differences");
  const Owned<cl_mem> from = make_buffer(context_, floats());
  check(set_arg(differences, 0, from));
  check(set_arg(differences, 2, static_cast<int>(kItems)));
  expect_the_same(differences, 1, 0, {kItems});
  EXPECT_EQ(read<float>(other_, from, kItems), floats());
}

TEST_F(SplitProofTest, OnlyThePartOfAPieceMoves) {
  const Owned<cl_kernel> differences = make_kernel(provable(), "differences");
  const Owned<cl_mem> from = make_buffer(context_, floats()), to = make_buffer(context_, kItems * sizeof(float));
  check(set_arg(differences, 0, from));
  check(set_arg(differences, 1, to));
  check(set_arg(differences, 2, static_cast<int>(kItems)));
  const auto moved = [] { return statistic("bytes_received") + statistic("bytes_sent"); };
  const std::uint64_t before = moved();
  check(split(differences, 0, {kItems}));
  check(clFinish(queue_));
  check(clFinish(other_));
  EXPECT_LT(moved() - before, kItems * sizeof(float) * 3 / 2);
}

TEST_F(SplitProofTest, ARefusalSaysWhy) {
  const Owned<cl_kernel> scatter = make_kernel(provable(), "scatter");
  const Owned<cl_mem> to = make_buffer(context_, numbers(64)), from = make_buffer(context_, numbers(64));
  check(set_arg(scatter, 0, to));
  check(set_arg(scatter, 1, from));
  EXPECT_EQ(split(scatter, 0, {64}), CL_INVALID_OPERATION);
  EXPECT_EQ(why_not(scatter, 0, {64}),
            "line 20, 'to': the index is not of the form get_global_id(0) * size + position");
  EXPECT_EQ(read<int>(queue_, to, 64), numbers(64));
}

TEST_F(SplitProofTest, ArgumentsThatShareMemoryAreRefused) {
  const Owned<cl_kernel> differences = make_kernel(provable(), "differences");
  const Owned<cl_mem> whole = make_buffer(context_, floats());
  const auto refused = [&](cl_mem from, cl_mem to) {
    check(set_arg(differences, 0, from));
    check(set_arg(differences, 1, to));
    check(set_arg(differences, 2, 4096));
    return why_not(differences, 0, {4096});
  };
  EXPECT_EQ(refused(whole, whole), "arguments 1 and 0 share memory, and the kernel writes the first of these");
  const Owned<cl_mem> first = make_sub_buffer(whole, 0, 4096 * sizeof(float)),
                      second = make_sub_buffer(whole, 4096 * sizeof(float), 4096 * sizeof(float)),
                      between = make_sub_buffer(whole, 2048 * sizeof(float), 4096 * sizeof(float));
  EXPECT_EQ(refused(first, second), "");
  EXPECT_NE(refused(first, between).find("share memory"), std::string::npos);
}

TEST_F(SplitProofTest, ALaunchThatWouldTouchOtherItemsIsRefused) {
  const Owned<cl_kernel> product = make_kernel(provable(), "product");
  const Owned<cl_mem> a = make_buffer(context_, floats()), b = make_buffer(context_, floats()),
                      c = make_buffer(context_, floats());
  check(set_arg(product, 0, a));
  check(set_arg(product, 1, b));
  check(set_arg(product, 2, c));
  check(set_arg(product, 3, static_cast<int>(kWidth)));
  EXPECT_EQ(split(product, 1, {kWidth + 1, kWidth}), CL_INVALID_OPERATION);
  EXPECT_NE(why_not(product, 1, {kWidth + 1, kWidth}).find("goes from 0 to 96, but an item has 96"), std::string::npos);
  EXPECT_NE(why_not(product, 0, {kWidth, kWidth}), "");
}

TEST_F(SplitProofTest, OptionsOfTheBuildAreFollowed) {
  const char* const source = "kernel void put(global int* to) { to[get_global_id(0) * STEP + FIRST] = 5; }";
  const Owned<cl_mem> to = make_buffer(context_, std::vector<int>(kItems));
  const Owned<cl_kernel> put = make_kernel(build(context_, source, "-DSTEP=2 -D FIRST=1"), "put");
  check(set_arg(put, 0, to));
  check(split(put, 0, {kItems / 2}));
  std::vector<int> expected(kItems);
  for (std::size_t i = 1; i < kItems; i += 2) expected[i] = 5;
  EXPECT_EQ(read<int>(queue_, to, kItems), expected);
  const Owned<cl_kernel> beside = make_kernel(build(context_, source, "-DSTEP=2 -D FIRST=2"), "put");
  check(set_arg(beside, 0, to));
  EXPECT_NE(why_not(beside, 0, {kItems / 2}), "");
}

TEST_F(SplitProofTest, AProgramWithoutSourceIsRefused) {
  const Owned<cl_program> compiled = make_program(context_, kSource);
  check(clCompileProgram(compiled, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr));
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> linked(
      clLinkProgram(context_, 0, nullptr, nullptr, 1, compiled.pointer(), nullptr, nullptr, &error));
  check(error);
  const Owned<cl_kernel> add = make_kernel(linked, "add");
  const Owned<cl_mem> data = make_buffer(context_, numbers(64));
  check(set_arg(add, 0, data));
  check(set_arg(add, 1, 1));
  EXPECT_EQ(split(add, 0, {64}), CL_INVALID_OPERATION);
  EXPECT_EQ(why_not(add, 0, {64}), "its program was not made from source");
}

}  // namespace
}  // namespace remotecl::testing
