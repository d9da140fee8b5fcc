// A device's clock, seen from here.
#include <time.h>

#include <atomic>
#include <memory>

#include "runtime/client/device.h"
#include "runtime/client/session.h"

namespace remotecl {
namespace {

constexpr int kReadings = 16;

}  // namespace

std::uint64_t host_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

cl_int Device::read_clock(ClockEstimate::Reading& reading) {
  struct Answer {
    std::atomic<bool> done{false};
    cl_int error = CL_DEVICE_NOT_AVAILABLE;
    std::uint64_t clock_ns = 0, received_ns = 0;
  };
  const auto answer = std::make_shared<Answer>();
  const Token token = session_.expect_reply([answer](std::uint16_t, const Bytes* payload) {
    Clock report{};
    if (payload != nullptr && Decoder(*payload).read(report)) {
      answer->error = report.error;
      answer->clock_ns = report.time_ns;
      answer->received_ns = host_time_ns();
    }
    answer->done = true;
  });
  const std::uint64_t sent_ns = host_time_ns();
  session_.send(ReadClock{index_, token});
  session_.wait([&] { return answer->done.load(); });
  if (!answer->done.load()) return CL_DEVICE_NOT_AVAILABLE;
  reading = {sent_ns, answer->clock_ns, answer->received_ns};
  return answer->error;
}

std::uint64_t Device::clock_offset_ns() {
  if (parent_) return parent_->clock_offset_ns();
  std::call_once(clock_read_, [this] {
    ClockEstimate estimate;
    for (int i = 0; i < kReadings; ++i) {
      ClockEstimate::Reading reading{};
      if (read_clock(reading) != CL_SUCCESS) break;
      estimate.add(reading);
    }
    clock_offset_ns_ = estimate.offset_ns();
  });
  return clock_offset_ns_;
}

cl_int Device::timers(std::uint64_t& device_ns, std::uint64_t& host_ns) {
  const std::uint64_t offset_ns = clock_offset_ns();
  ClockEstimate::Reading reading{};
  const cl_int error = read_clock(reading);
  if (error != CL_SUCCESS) return error;
  device_ns = reading.clock_ns + offset_ns;
  host_ns = reading.host_ns();
  return CL_SUCCESS;
}

}  // namespace remotecl
