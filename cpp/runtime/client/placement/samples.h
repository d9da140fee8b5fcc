#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/schedule/ids.h"

namespace remotecl {

// Which runs of kernels are measured: the first few of each kernel, device and size class, then rarely, because drivers
// take longer for a launch that is timed. Guarded by the placement's lock.
class Samples {
 public:
  static constexpr std::uint32_t kFirst = 3, kEvery = 64;

  // Whether to measure this run.
  bool next(schedule::KernelId kernel, schedule::DeviceId device, double size) {
    if (kernel >= runs_.size()) runs_.resize(kernel + 1);
    auto& of_kernel = runs_[kernel];
    if (device >= of_kernel.size()) of_kernel.resize(device + 1);
    std::uint32_t& count = of_kernel[device][class_of(size)];
    const bool is_next = count < kFirst || count % kEvery == 0;
    ++count;
    return is_next;
  }

 private:
  static constexpr std::size_t kClasses = 16;  // a factor of 16 each

  static std::size_t class_of(double size) {
    const auto items = static_cast<std::uint64_t>(size);
    return static_cast<std::size_t>(std::bit_width(items)) / 4 % kClasses;
  }

  std::vector<std::vector<std::array<std::uint32_t, kClasses>>> runs_;  // by kernel and device
};

}  // namespace remotecl
