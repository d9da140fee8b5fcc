#include "server/driver/open_mappings.h"

#include <algorithm>

#include "server/completion/event_status.h"

namespace remotecl::server {
namespace {

bool is_pending(cl_event mapped) { return execution_status(mapped) > CL_COMPLETE; }

}  // namespace

void* OpenMappings::map(cl_command_queue queue, cl_mem memory, cl_map_flags flags, std::size_t offset, std::size_t size,
                        cl_uint wait_count, const cl_event* waits, cl_event* mapped, cl_int& error) {
  MutexLock lock(mutex_);
  void* const data =
      clEnqueueMapBuffer(queue, memory, CL_FALSE, flags, offset, size, wait_count, waits, mapped, &error);
  if (error != CL_SUCCESS) return nullptr;
  open_.push_back({{memory, data}, *mapped});
  return data;
}

cl_int OpenMappings::unmap(cl_command_queue queue, const Key& key, cl_event mapped, cl_event* unmapped) {
  MutexLock lock(mutex_);
  std::erase_if(open_, [mapped](const Open& one) { return one.mapped == mapped; });
  const cl_uint waits = is_pending(mapped) ? 1 : 0;  // the mapping is dropped before it was carried out
  const bool may_be_mistaken = std::any_of(open_.begin(), open_.end(),
                                           [&](const Open& one) { return one.key == key && is_pending(one.mapped); });
  if (may_be_mistaken) {
    ++owed_[key];
    return unmapped == nullptr ? CL_SUCCESS : clEnqueueMarkerWithWaitList(queue, 1, &mapped, unmapped);
  }
  const auto owed = owed_.find(key);
  if (owed != owed_.end()) {
    for (int i = 0; i < owed->second; ++i) {
      clEnqueueUnmapMemObject(queue, key.memory, key.data, 0, nullptr, nullptr);
    }
    owed_.erase(owed);
  }
  return clEnqueueUnmapMemObject(queue, key.memory, key.data, waits, waits != 0 ? &mapped : nullptr, unmapped);
}

}  // namespace remotecl::server
