#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

// Which runs of kernels are measured: the first few of each kernel, device and size class, then rarely, because drivers
// take longer for a launch that is timed; and some more where runs take another time than before, as those of a kernel
// whose arguments say how much it does.
class Samples {
 public:
  static constexpr std::uint32_t kFirst = 3, kEvery = 64;

  // Makes room, so that next() allocates nothing.
  void reserve(std::size_t kernels, std::size_t devices) {
    runs_.resize(kernels);
    for (auto& of_kernel : runs_) of_kernel.resize(devices);
  }
  // Whether to measure this run, whatever else is known of its device.
  bool next(KernelId kernel, DeviceId device, double size) {
    Runs& runs = runs_of(kernel, device, size);
    const bool is_next = runs.left > 0 || runs.count == 0;
    if (runs.left > 0) --runs.left;
    runs.count = static_cast<std::uint8_t>((runs.count + 1) % kEvery);
    return is_next;
  }
  // A run has taken a time that was not expected: the next ones are measured, too.
  void surprised(KernelId kernel, DeviceId device, double size) { runs_of(kernel, device, size).left = kFirst; }

 private:
  struct Runs {
    std::uint8_t count = 0;      // of kEvery
    std::uint8_t left = kFirst;  // to be measured in any case
  };

  Runs& runs_of(KernelId kernel, DeviceId device, double size) { return runs_[kernel][device][class_of(size)]; }

  static constexpr std::size_t kClasses = 16;  // a factor of 16 each

  static std::size_t class_of(double size) {
    const auto items = static_cast<std::uint64_t>(size);
    return static_cast<std::size_t>(std::bit_width(items)) / 4 % kClasses;
  }

  std::vector<std::vector<std::array<Runs, kClasses>>> runs_;  // by kernel and device
};

}  // namespace remotecl::schedule
