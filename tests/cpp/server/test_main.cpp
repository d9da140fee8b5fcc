#include <gtest/gtest.h>

#include "server/log.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  spdlog::set_level(spdlog::level::off);  // most tests provoke warnings on purpose
  return RUN_ALL_TESTS();
}
