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
      progress_(make_ref<QueueProgress>(turn_ ? turn_->session() : 0)),
      arena_(std::move(blocks)),
      wants_events_(in_order_ && device.traits().quirks.waits_for_all_slowly),
      may_end_by_barriers_(in_order_ && !profiling_ && device.traits().quirks.kernel_events_end_late) {
  const cl_context context = turn_ ? device.context(error_) : nullptr;
  if (!turn_) error_ = CL_DEVICE_NOT_AVAILABLE;
  if (context != nullptr) native_ = device_.released_queues().take(properties);
  if (context != nullptr && native_ == nullptr) {
    native_ = clCreateCommandQueue(context, device.id(), properties, &error_);
  }
  if (error_ != CL_SUCCESS) native_ = nullptr;
  device_.load().add(progress_);
}

Queue::~Queue() {
  const bool is_idle = has_become_idle();
  device_.load().remove(progress_);
  if (!arena_.empty()) {
    Native<cl_event> marker;
    if (mark(marker) != CL_SUCCESS) clFinish(native_);  // the driver is broken; nothing else makes freeing safe
    arena_.retire(std::move(marker));
  }
  newest_.reset();
  if (native_ != nullptr) device_.released_queues().add(native_, properties());
  if (is_idle || !device_.load().has_queues()) device_.released_memory().release_if_idle();
}

bool Queue::has_become_idle() {
  if (native_idle()) return true;
  if (!newest_ || !has_completed(newest_.get())) return false;
  progress_->ended(progress_->issued());
  return true;
}

cl_int Queue::mark(Native<cl_event>& marker) {
  if (newest_) {
    marker = newest_.copy();
    return CL_SUCCESS;
  }
  // A barrier would keep later commands of an out-of-order queue from running beside earlier ones.
  if (in_order_ && device_.traits().quirks.kernel_events_end_late)
    return clEnqueueBarrierWithWaitList(native_, 0, nullptr, marker.out());
  return clEnqueueMarkerWithWaitList(native_, 0, nullptr, marker.out());
}

const std::byte* Queue::stage(Bytes data) {
  if (native_idle()) arena_.reset();
  if (!arena_.empty() && !arena_.fits(data.size())) {
    Native<cl_event> marker;
    if (mark(marker) != CL_SUCCESS) clFinish(native_);
    if (marker) {
      clFlush(native_);
      uncounted += BlockPool::kBlockSize;
    }
    arena_.retire(std::move(marker));
  }
  return arena_.add(data);
}

}  // namespace remotecl::server
