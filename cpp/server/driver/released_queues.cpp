#include "server/driver/released_queues.h"

#include <algorithm>
#include <utility>

#include "server/completion/event_status.h"

namespace remotecl::server {

void ReleasedQueues::add(cl_command_queue queue, cl_command_queue_properties properties) {
  const bool is_safe = !are_kept_ || (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  Native<cl_event> end;
  if (is_safe || clEnqueueMarkerWithWaitList(queue, 0, nullptr, end.out()) != CL_SUCCESS) {
    clReleaseCommandQueue(queue);
    return;
  }
  clFlush(queue);
  const MutexLock lock(mutex_);
  kept_.push_back({queue, properties, std::move(end)});
}

cl_command_queue ReleasedQueues::take(cl_command_queue_properties properties) {
  const MutexLock lock(mutex_);
  const auto at = std::find_if(kept_.begin(), kept_.end(), [properties](const Kept& kept) {
    return kept.properties == properties && execution_status(kept.end.get()) <= CL_COMPLETE;
  });
  if (at == kept_.end()) return nullptr;
  const cl_command_queue queue = at->queue;
  kept_.erase(at);
  return queue;
}

void ReleasedQueues::release_ended() {
  std::vector<Kept> all;
  {
    const MutexLock lock(mutex_);
    all.swap(kept_);
  }
  for (const Kept& kept : all) {
    if (execution_status(kept.end.get()) <= CL_COMPLETE) clReleaseCommandQueue(kept.queue);
  }
}

}  // namespace remotecl::server
