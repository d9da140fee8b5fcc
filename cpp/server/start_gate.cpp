#include "server/start_gate.h"

#include <thread>
#include <utility>

#include "server/device.h"

namespace remotecl::server {

StartGate::StartGate(Device& device, std::span<const cl_event> waits) : waits_(waits.begin(), waits.end()) {
  static const bool is_of_use = std::thread::hardware_concurrency() <= kCoresMax;
  if (!is_of_use || !device.is_processor()) return;
  cl_int error = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context != nullptr) gate_ = clCreateUserEvent(context, &error);
  if (gate_ != nullptr) waits_.push_back(gate_);
}

StartGate::~StartGate() {
  if (gate_ == nullptr) return;
  open();
  clReleaseEvent(gate_);
}

void StartGate::open() {
  if (gate_ != nullptr && !std::exchange(is_open_, true)) clSetUserEventStatus(gate_, CL_COMPLETE);
}

}  // namespace remotecl::server
