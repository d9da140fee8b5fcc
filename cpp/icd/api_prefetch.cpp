#include <algorithm>

#include "icd/wait_list.h"
#include "remotecl/remotecl.h"

using namespace remotecl;

cl_int remotecl_prefetch(cl_device_id device, cl_uint count, const cl_mem* objects, cl_uint wait_count,
                         const cl_event* wait_list, cl_event* event) {
  return icd::enter([&] {
    Device& target = icd::object<Device>(device);
    icd::require(count != 0 && objects != nullptr, CL_INVALID_VALUE);
    std::vector<MemoryObject*> memory;
    for (cl_uint i = 0; i < count; ++i) memory.push_back(&icd::object<MemoryObject>(objects[i]));
    Context& context = memory.front()->context();
    for (const MemoryObject* object : memory) icd::require(&object->context() == &context, CL_INVALID_CONTEXT);
    const bool is_known = context.contains(target) && !target.is_automatic();
    const auto& members = context.devices();
    icd::require(is_known || std::find(members.begin(), members.end(), &target) != members.end(), CL_INVALID_DEVICE);
    icd::Dependencies dependencies(context, wait_count, wait_list, event);
    CommandQueue& queue = context.transfer_queue_on(target);
    const cl_int code =
        dependencies.finish(enqueue_migrate(queue, memory, 0, dependencies.wait(), dependencies.event()));
    queue.flush();  // the queue has no handle, so nothing else can flush it
    return code;
  });
}
