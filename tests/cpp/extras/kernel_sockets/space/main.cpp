#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::setenv("POCL_MAX_PTHREAD_COUNT", "4", 0);  // as many groups run at once, where the driver is PoCL
  return RUN_ALL_TESTS();
}
