#include "server/execution/start_gate.h"

#include <utility>

#include "server/driver/device.h"

namespace remotecl::server {

StartGate::StartGate(Device& device, std::size_t commands, std::span<const cl_event> waits, unsigned cores)
    : waits_(waits) {
  if (cores > kCoresMax || commands < 2 || !device.is_processor()) return;
  waits_and_gate_.reserve(waits.size() + 1);
  waits_and_gate_.assign(waits.begin(), waits.end());
  cl_int error = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context != nullptr) gate_ = clCreateUserEvent(context, &error);
  if (gate_ == nullptr) return;
  waits_and_gate_.push_back(gate_);
  waits_ = waits_and_gate_;
}

StartGate::~StartGate() {
  if (gate_ == nullptr) return;
  open();
  clReleaseEvent(gate_);
}

void StartGate::add_command() {
  if (++commands_ == kCommandsMax) open();
}

void StartGate::open() {
  if (gate_ != nullptr && !std::exchange(is_open_, true)) clSetUserEventStatus(gate_, CL_COMPLETE);
}

}  // namespace remotecl::server
