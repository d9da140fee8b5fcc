// Reading a device's clock over the network.
#include "runtime/client/objects/device.h"
#include "runtime/client/session/request.h"

namespace remotecl {
namespace {

constexpr int kReadings = 16;

cl_int read_clock(Session& session, std::uint32_t device, ClockEstimate::Reading& reading) {
  struct ClockReply {
    cl_int error;
    std::uint64_t clock_ns, received_ns;
  };
  std::uint64_t sent_ns = 0;
  const auto reply = ask<Clock>(
      session,
      [&](Token token) {
        sent_ns = host_time_ns();
        session.send(ReadClock{device, token});
      },
      [](const Clock& report) {
        return ClockReply{report.error, report.time_ns, host_time_ns()};
      });
  if (!reply) return CL_DEVICE_NOT_AVAILABLE;
  reading = {sent_ns, reply->clock_ns, reply->received_ns};
  return reply->error;
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
  std::call_once(clock_read_, [this] {
    const ClockEstimate estimate = estimate_clock(session_, index_);
    clock_offset_ns_ = estimate.offset_ns();
    clock_round_trip_ns_ = estimate.best().round_trip_ns();
  });
  return clock_offset_ns_;
}

// A reading that takes much longer than usual says little: its reply may have waited on either side of the clock.
cl_int Device::timers(std::uint64_t& device_ns, std::uint64_t& host_ns) {
  if (is_automatic()) {
    device_ns = host_ns = host_time_ns();  // times of all members are in the host's clock
    return CL_SUCCESS;
  }
  const std::uint64_t offset_ns = clock_offset_ns();
  const std::uint64_t usual_ns = root().clock_round_trip_ns_;
  ClockEstimate best;
  for (int i = 0; i < kReadings && (i == 0 || best.best().round_trip_ns() > 2 * usual_ns); ++i) {
    ClockEstimate::Reading reading{};
    if (const cl_int error = read_clock(session_, index_, reading); error != CL_SUCCESS) return error;
    best.add(reading);
  }
  device_ns = best.best().clock_ns + offset_ns;
  host_ns = best.host_ns();
  return CL_SUCCESS;
}

}  // namespace remotecl
