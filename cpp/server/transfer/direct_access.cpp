#include "server/transfer/direct_access.h"

#include <algorithm>

#include "server/completion/event_status.h"

namespace remotecl::server {

std::byte* direct_access(const Issue& issue, const Region& region) {
  Device& device = issue.queue.device();
  if (!device.memory().uses_host_memory() || !region.is_range()) return nullptr;
  // Only the driver knows times.
  if (issue.event != nullptr && issue.event->profiled) return nullptr;
  // In an out-of-order queue a barrier may hold the command back.
  if (!issue.queue.has_become_idle()) return nullptr;
  if (!std::all_of(issue.waits.begin(), issue.waits.end(), has_completed)) return nullptr;
  std::byte* const memory = region.buffer->host_memory(device);
  return memory == nullptr ? nullptr : memory + region.offset;
}

}  // namespace remotecl::server
