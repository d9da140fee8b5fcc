// Reading a device's clock over the network.
#include <atomic>
#include <memory>

#include "runtime/client/objects/device.h"
#include "runtime/client/session/session.h"

namespace remotecl {
namespace {

constexpr int kReadings = 16;

cl_int read_clock(Session& session, std::uint32_t device, ClockEstimate::Reading& reading) {
  struct Answer {
    std::atomic<bool> done{false};
    cl_int error = CL_DEVICE_NOT_AVAILABLE;
    std::uint64_t clock_ns = 0, received_ns = 0;
  };
  const auto answer = std::make_shared<Answer>();
  const Token token = session.expect_reply([answer](std::uint16_t, const Bytes* payload) {
    Clock report{};
    if (payload != nullptr && Decoder(*payload).read(report)) {
      answer->error = report.error;
      answer->clock_ns = report.time_ns;
      answer->received_ns = host_time_ns();
    }
    answer->done = true;
  });
  const std::uint64_t sent_ns = host_time_ns();
  session.send(ReadClock{device, token});
  session.wait([&] { return answer->done.load(); });
  if (!answer->done.load()) return CL_DEVICE_NOT_AVAILABLE;
  reading = {sent_ns, answer->clock_ns, answer->received_ns};
  return answer->error;
}

}  // namespace

ClockEstimate estimate_clock(Session& session, std::uint32_t device) {
  ClockEstimate estimate;
  for (int i = 0; i < kReadings; ++i) {
    ClockEstimate::Reading reading{};
    if (read_clock(session, device, reading) != CL_SUCCESS) break;
    estimate.add(reading);
  }
  return estimate;
}

std::uint64_t Device::clock_offset_ns() {
  if (parent_) return parent_->clock_offset_ns();
  std::call_once(clock_read_, [this] { clock_offset_ns_ = estimate_clock(session_, index_).offset_ns(); });
  return clock_offset_ns_;
}

cl_int Device::timers(std::uint64_t& device_ns, std::uint64_t& host_ns) {
  const std::uint64_t offset_ns = clock_offset_ns();
  ClockEstimate::Reading reading{};
  const cl_int error = read_clock(session_, index_, reading);
  if (error != CL_SUCCESS) return error;
  device_ns = reading.clock_ns + offset_ns;
  host_ns = reading.host_ns();
  return CL_SUCCESS;
}

}  // namespace remotecl
