#include "server/execution/queue.h"

#include <utility>

#include "server/completion/event_status.h"

namespace remotecl::server {

Queue::Queue(ObjectId id, Device& device, cl_command_queue_properties properties, Ref<BlockPool> blocks,
             Ref<DeviceTurn> turn)
    : id_(id),
      device_(device),
      in_order_((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0),
      profiling_((properties & CL_QUEUE_PROFILING_ENABLE) != 0),
      turn_(std::move(turn)),
      arena_(std::move(blocks)),
      wants_events_(in_order_ && device.waits_for_all_slowly()) {
  const cl_context context = turn_ ? device.context(error_) : nullptr;
  if (!turn_) error_ = CL_DEVICE_NOT_AVAILABLE;
  if (context != nullptr) native_ = clCreateCommandQueue(context, device.id(), properties, &error_);
  if (error_ != CL_SUCCESS) native_ = nullptr;
  device_.load().add(progress_);
}

Queue::~Queue() {
  device_.load().remove(progress_);
  if (!arena_.empty()) {
    cl_event marker = nullptr;
    if (mark(marker) != CL_SUCCESS) clFinish(native_);  // the driver is broken; nothing else makes freeing safe
    arena_.retire(marker);
  }
  if (newest_ != nullptr) clReleaseEvent(newest_);
  if (native_ != nullptr) clReleaseCommandQueue(native_);
}

void Queue::note(cl_event event) {
  if (!wants_events_) return;
  clRetainEvent(event);
  if (newest_ != nullptr) clReleaseEvent(newest_);
  newest_ = event;
}

bool Queue::has_become_idle() {
  if (native_idle()) return true;
  if (newest_ == nullptr || !has_completed(newest_)) return false;
  progress_->ended(progress_->issued());
  return true;
}

cl_int Queue::mark(cl_event& marker) {
  if (newest_ == nullptr) return clEnqueueMarkerWithWaitList(native_, 0, nullptr, &marker);
  marker = newest_;
  return clRetainEvent(marker);
}

const std::byte* Queue::stage(Bytes data) {
  if (native_idle()) arena_.reset();
  if (!arena_.empty() && !arena_.fits(data.size())) {
    cl_event marker = nullptr;
    if (mark(marker) != CL_SUCCESS) clFinish(native_);
    if (marker != nullptr) clFlush(native_);
    arena_.retire(marker);
  }
  return arena_.add(data);
}

}  // namespace remotecl::server
