#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/schedule/ids.h"

namespace remotecl {

// Which runs of kernels are measured: the first few of each kernel, device and size class, then rarely, because drivers
// take longer for a launch that is timed; and some more where runs take another time than before, as those of a kernel
// whose arguments say how much it does. Guarded by the placement's lock.
class Samples {
 public:
  static constexpr std::uint32_t kFirst = 3, kEvery = 64;

  // Whether to measure this run.
  bool next(schedule::KernelId kernel, schedule::DeviceId device, double size) {
    Runs& runs = runs_of(kernel, device, size);
    const bool is_next = runs.count < runs.measured_until || runs.count % kEvery == 0;
    ++runs.count;
    return is_next;
  }
  // A run has taken a time that was not expected, or seems to: the next ones are measured, too. So are those of a
  // program that looks late, which costs it nothing in comparison.
  void surprised(schedule::KernelId kernel, schedule::DeviceId device, double size) {
    Runs& runs = runs_of(kernel, device, size);
    runs.measured_until = runs.count + kFirst;
  }

 private:
  struct Runs {
    std::uint32_t count = 0, measured_until = kFirst;
  };

  Runs& runs_of(schedule::KernelId kernel, schedule::DeviceId device, double size) {
    if (kernel >= runs_.size()) runs_.resize(kernel + 1);
    auto& of_kernel = runs_[kernel];
    if (device >= of_kernel.size()) of_kernel.resize(device + 1);
    return of_kernel[device][class_of(size)];
  }

  static constexpr std::size_t kClasses = 16;  // a factor of 16 each

  static std::size_t class_of(double size) {
    const auto items = static_cast<std::uint64_t>(size);
    return static_cast<std::size_t>(std::bit_width(items)) / 4 % kClasses;
  }

  std::vector<std::vector<std::array<Runs, kClasses>>> runs_;  // by kernel and device
};

}  // namespace remotecl
