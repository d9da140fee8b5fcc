#include "extras/scheduling/split/speed_table.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

TEST(SpeedTableTest, ATableThatIsFullBeginsAnew) {
  const SpeedTable::Devices devices{nullptr};  // which stands for a device here
  const schedule::DivisionHistory history{{1}, {1}, {1}};
  const auto speed = [&](const SpeedTable& table, std::size_t kernel) {
    return table.history(std::to_string(kernel), devices).speeds.front();
  };
  SpeedTable table;
  for (std::size_t i = 0; i < SpeedTable::kDivisionsMax; ++i) table.set(std::to_string(i), devices, history);
  table.set("0", devices, history);  // no further one
  EXPECT_EQ(speed(table, 1), 1);
  table.set("another", devices, history);
  EXPECT_EQ(speed(table, 0), 0);
  EXPECT_EQ(table.history("another", devices).speeds.front(), 1);
}

}  // namespace
}  // namespace remotecl
