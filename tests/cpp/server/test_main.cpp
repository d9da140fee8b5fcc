#include <gtest/gtest.h>

#include <cstdlib>

#include "server/util/log.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  remotecl::server::set_log_level(remotecl::server::LogLevel::kOff);  // most tests provoke warnings on purpose
  ::setenv("POCL_DEVICES", "pthread pthread", 0);  // two devices to choose from, where the driver is PoCL
  return RUN_ALL_TESTS();
}
