#include "icd/enqueue_checks.h"
#include "icd/wait_list.h"
#include "remotecl/remotecl.h"
#include "runtime/client/split/split_kernel.h"

using namespace remotecl;

cl_int remotecl_enqueue_split(cl_uint queue_count, const cl_command_queue* queues, cl_kernel kernel_handle,
                              cl_uint dimension, cl_uint work_dimensions, const size_t* offset, const size_t* global,
                              const size_t* local, cl_uint slice_count, const remotecl_slice* slices,
                              cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  using icd::require;
  return icd::enter([&] {
    require(queue_count != 0 && queues != nullptr && (slice_count == 0 || slices != nullptr), CL_INVALID_VALUE);
    Kernel& kernel = icd::object<Kernel>(kernel_handle);
    std::vector<CommandQueue*> targets;
    for (cl_uint i = 0; i < queue_count; ++i) targets.push_back(&icd::object<CommandQueue>(queues[i]));
    icd::Dependencies dependencies(kernel.context(), wait_count, wait_list, event);
    NDRange range{};
    for (CommandQueue* queue : targets) {
      require(&queue->context() == &kernel.context(), CL_INVALID_CONTEXT);
      require(!queue->session().lost(), CL_DEVICE_NOT_AVAILABLE);
      range = icd::checked_range(*queue, kernel, work_dimensions, offset, global, local);
    }
    require(dimension < range.dimensions, CL_INVALID_VALUE);
    std::vector<Slice> parts;
    for (cl_uint i = 0; i < slice_count; ++i) {
      const remotecl_slice& one = slices[i];
      parts.push_back({one.argument, one.overwrites != 0, one.item_bytes, one.before, one.after});
    }
    const cl_int error = SplitKernel::check_slices(kernel, parts);
    require(error == CL_SUCCESS, error);
    if (icd::is_empty(range)) {
      return dependencies.finish(enqueue_marker(*targets.front(), false, CL_COMMAND_NDRANGE_KERNEL, dependencies.wait(),
                                                dependencies.event()));
    }
    SplitKernel split(targets, kernel, range, dimension, parts, dependencies.wait());
    return dependencies.finish(split.run(dependencies.event()));
  });
}
