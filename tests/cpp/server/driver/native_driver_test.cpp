#include "server/driver/native_driver.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace remotecl::server {
namespace {

// Else a kernel's first launch on NVIDIA's GPUs waits for kernels that run, which may wait for it.
TEST(NativeDriverTest, NvidiasDriverLoadsKernelsBeforeTheirFirstLaunchUnlessTheOperatorSaysOtherwise) {
  constexpr const char* kVariable = "CUDA_MODULE_LOADING";
  ::unsetenv(kVariable);
  const NativeDriver driver("0");
  EXPECT_STREQ(std::getenv(kVariable), "EAGER");
  ::setenv(kVariable, "LAZY", 1);
  const NativeDriver another("0");
  EXPECT_STREQ(std::getenv(kVariable), "LAZY");
}

}  // namespace
}  // namespace remotecl::server
