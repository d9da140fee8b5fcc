#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "extras/scheduling/schedule/device.h"

namespace remotecl::schedule {

// How long one kernel runs, by device and size, learned from measurements.
//
// A table: one row for each power of two of sizes that was seen, one column for each device. A cell is the mean of what
// was measured, where the latest count most. Cells of a measured column that have no measurement of their own are
// interpolated between those above and below, and proportional to the size beyond them. This is done when a measurement
// arrives, so that a forecast for all devices reads two rows from begin to end.
//
// Further columns hold time multiplied by speed, for each type of device and for all. They predict devices that have
// never run this kernel from the others' times and the ratio of speeds.
class KernelTimes {
 public:
  // Times at one size. Valid until the next record().
  class Forecast {
   public:
    // 0 where it has not been measured.
    Seconds measured(DeviceId device) const { return device < devices_ ? at(kShared + device) : 0; }
    // From what other devices needed, those of the same type if there are any; 0 if none has run it.
    Seconds predicted(const Pace& pace) const {
      if (!below_) return 0;
      const Seconds of_type = at(static_cast<std::size_t>(pace.type));
      return (of_type > 0 ? of_type : at(kAnyType)) * pace.slowness;
    }
    // The same for another kernel: nothing of it is measured.
    Forecast for_another() const {
      Forecast result = *this;
      result.devices_ = 0;
      return result;
    }

   private:
    friend class KernelTimes;
    Seconds at(std::size_t column) const { return below_share_ * below_[column] + above_share_ * above_[column]; }

    const float* below_ = nullptr;
    const float* above_ = nullptr;
    std::size_t devices_ = 0;  // that have columns
    double below_share_ = 0, above_share_ = 0;
  };

  bool is_empty() const { return rows_.empty(); }
  Forecast at(double size) const;
  // A measurement; ignored unless both are positive numbers.
  void record(DeviceId id, const Device& device, double size, Seconds seconds);

 private:
  static constexpr std::size_t kAnyType = kDeviceTypes;
  static constexpr std::size_t kShared = kDeviceTypes + 1;  // columns before those of devices

  struct Row {
    double size;  // the first one that was seen of its power of two, so that sizes that come again are exact
    std::vector<float> seconds;
    std::vector<std::uint8_t> count;  // of measurements, up to kCountMax
  };

  Row& row_for(double size);
  void learn(Row& row, std::size_t column, double seconds);
  void interpolate(std::size_t column);

  std::vector<Row> rows_;  // by size
  std::size_t columns_ = kShared;
};

}  // namespace remotecl::schedule
