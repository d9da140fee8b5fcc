// Solves a sparse system by conjugate gradients and multiplies matrices, by ViennaCL's OpenCL back end.
#define VIENNACL_WITH_OPENCL
#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/vector.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

int main() {
  constexpr int kRows = 2000;
  std::vector<std::map<unsigned, float>> rows(kRows);
  for (int i = 0; i < kRows; ++i) {
    rows[i][i] = 2.5f;
    if (i > 0) rows[i][i - 1] = -1;
    if (i + 1 < kRows) rows[i][i + 1] = -1;
  }
  viennacl::compressed_matrix<float> matrix(kRows, kRows);
  viennacl::copy(rows, matrix);
  const std::vector<float> ones(kRows, 1.0f);
  viennacl::vector<float> right(kRows);
  viennacl::copy(ones, right);
  double seconds = 0;
  for (int round = 0; round < 2; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const viennacl::linalg::cg_tag tag(1e-5, 200);
    const viennacl::vector<float> solution = viennacl::linalg::solve(matrix, right, tag);
    viennacl::vector<float> rest = viennacl::linalg::prod(matrix, solution);
    rest -= right;
    const float residual = std::sqrt(viennacl::linalg::inner_prod(rest, rest));
    viennacl::matrix<float> a = viennacl::scalar_matrix<float>(128, 128, 0.5f);
    viennacl::matrix<float> b = viennacl::scalar_matrix<float>(128, 128, 2.0f);
    const viennacl::matrix<float> c = viennacl::linalg::prod(a, b);
    const float corner = c(127, 127);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (round > 0) std::printf("%d %.1f\n", residual < 0.01f, corner);
  }
  std::printf("seconds: %f\n", seconds);
}
