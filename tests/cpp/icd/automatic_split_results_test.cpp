// What kernels compute that divide themselves, over three servers.
#include "icd/automatic_device_fixture.h"

namespace remotecl::testing {
namespace {

constexpr char kProductSource[] = R"(
kernel void product(global const float* a, global const float* b, global float* c, int n) {
  const int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[row * n + i] * sin(b[i * n + column]);
  c[row * n + column] = sum / 3.0f;
}
)";

class AutomaticSplitResultsTest : public AutomaticDeviceTest {
 protected:
  static constexpr std::size_t kSide = 256;
  using Matrix = std::vector<float>;

  AutomaticSplitResultsTest() : AutomaticDeviceTest("earliest-finish") {}

  static Matrix matrix(std::size_t seed) {
    Matrix values(kSide * kSide);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i + seed) * 7919 % 1000) / 7;
    return values;
  }
  struct Result {
    Matrix values;
    std::size_t parts;
  };
  Result multiply(cl_command_queue queue, cl_kernel product, cl_mem c) {
    const std::size_t global[] = {kSide, kSide};
    Owned<cl_event> event;
    check(clEnqueueNDRangeKernel(queue, product, 2, nullptr, global, nullptr, 0, nullptr, event.out()));
    Matrix values(kSide * kSide);
    check(clEnqueueReadBuffer(queue, c, CL_TRUE, 0, values.size() * sizeof(float), values.data(), 1, event.pointer(),
                              nullptr));
    return {values, explain(event)["parts"].size()};
  }
  // Returns how often it was divided. `text`: makes it another kernel. Its first division does not depend on how busy
  // the machine is.
  int compare(cl_command_queue queue, const std::string& text) {
    const Owned<cl_kernel> product = make_kernel(build(context_, kProductSource + text), "product");
    const Owned<cl_mem> a = make_buffer(context_, matrix(1)), b = make_buffer(context_, matrix(2));
    const Owned<cl_mem> c = make_buffer(context_, Matrix(kSide * kSide));
    check(set_arg(product, 0, a));
    check(set_arg(product, 1, b));
    check(set_arg(product, 2, c));
    check(set_arg(product, 3, static_cast<int>(kSide)));
    automatic_device("static");
    const Result whole = multiply(queue, product, c);
    automatic_device("earliest-finish");
    EXPECT_EQ(whole.parts, 0u);
    int divided = 0;
    for (int run = 0; run < 20 && divided < 3; ++run) {
      const Result again = multiply(queue, product, c);
      EXPECT_EQ(again.values, whole.values);
      divided += again.parts > 0 ? 1 : 0;
    }
    return divided;
  }
};

TEST_F(AutomaticSplitResultsTest, AreThoseOfOneDevice) {
  EXPECT_GT(compare(make_queue(context_, device_), "// in order"), 0);
}

TEST_F(AutomaticSplitResultsTest, AreThoseOfOneDeviceOnAnOutOfOrderQueue) {
  EXPECT_GT(compare(make_queue(context_, device_, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE),
                    "// out of order"),
            0);
}

}  // namespace
}  // namespace remotecl::testing
