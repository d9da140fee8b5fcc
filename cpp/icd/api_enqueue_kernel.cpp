#include <CL/cl_ext.h>

#include <algorithm>

#include "icd/enqueue_checks.h"
#include "icd/image_checks.h"
#include "icd/wait_list.h"
#include "runtime/client/objects/svm.h"

namespace {

using namespace remotecl;
using icd::Dependencies;
using icd::object;
using icd::require;

// 21 for a CL_DEVICE_VERSION that starts with "OpenCL 2.1".
int version_of(const Device& device) {
  const auto* text = device.info(CL_DEVICE_VERSION);
  if (text == nullptr || text->size() < 10) return 10;
  return (static_cast<int>((*text)[7]) - '0') * 10 + (static_cast<int>((*text)[9]) - '0');
}

// Whether work-groups at the end of the range may be smaller than others.
bool allows_remainder(Kernel& kernel, const Device& device) {
  const int version = version_of(device);
  if (version < 20) return false;
  if (version >= 30 && device.number<cl_bool>(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, CL_FALSE) == CL_FALSE) {
    return false;
  }
  return kernel.program().allows_remainder(device);
}

std::vector<std::size_t> item_limits(const Device& device) {
  std::vector<std::size_t> limits(3, ~std::size_t{0});
  if (const auto* native = device.info(CL_DEVICE_MAX_WORK_ITEM_SIZES)) {
    std::memcpy(limits.data(), native->data(), std::min(native->size(), limits.size() * sizeof(std::size_t)));
  }
  // A custom device may have no limits to report.
  std::replace(limits.begin(), limits.end(), std::size_t{0}, ~std::size_t{0});
  return limits;
}

// If the caller leaves the work-group size open, uses the one that the kernel's source requires, because some
// drivers do not find it themselves.
void choose_local(NDRange& range, const std::array<std::size_t, 3>& required) {
  range.has_local = true;
  for (cl_uint i = 0; i < range.dimensions; ++i) range.local[i] = required[i];
}

void check_local(Kernel& kernel, const KernelInfo& info, const Device& device, NDRange& range) {
  const bool fixed = info.compile_work_group_size[0] != 0;
  for (cl_uint i = 0; fixed && !range.has_local && i < range.dimensions; ++i) {
    const bool whole = range.global[i] % info.compile_work_group_size[i] == 0;
    require(whole || allows_remainder(kernel, device), CL_INVALID_WORK_GROUP_SIZE);
  }
  for (cl_uint i = range.dimensions; fixed && i < 3; ++i) {
    require(info.compile_work_group_size[i] == 1, CL_INVALID_WORK_GROUP_SIZE);
  }
  if (fixed && !range.has_local) choose_local(range, info.compile_work_group_size);
  if (!range.has_local) return;
  const auto limits = item_limits(device);
  std::uint64_t product = 1;
  for (cl_uint i = 0; i < range.dimensions; ++i) {
    require(range.local[i] != 0, CL_INVALID_WORK_GROUP_SIZE);
    // "CL_INVALID_WORK_ITEM_SIZE if the number of work-items specified in any of local_work_size[...] is greater than
    // the corresponding values specified by CL_DEVICE_MAX_WORK_ITEM_SIZES."
    require(range.local[i] <= limits[i], CL_INVALID_WORK_ITEM_SIZE);
    // "... if local_work_size does not match the required work-group size for kernel."
    require(!fixed || range.local[i] == info.compile_work_group_size[i], CL_INVALID_WORK_GROUP_SIZE);
    require(range.global[i] % range.local[i] == 0 || allows_remainder(kernel, device), CL_INVALID_WORK_GROUP_SIZE);
    require(!__builtin_mul_overflow(product, range.local[i], &product), CL_INVALID_WORK_GROUP_SIZE);
  }
  // A size beyond CL_KERNEL_WORK_GROUP_SIZE may still be accepted by the driver: see is_doubtful().
  const auto limit = device.number<std::size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE, 0);
  require(limit == 0 || product <= std::max(limit, info.work_group_size), CL_INVALID_WORK_GROUP_SIZE);
}

// "CL_OUT_OF_RESOURCES if there is a failure to queue the execution instance of kernel on the command-queue because of
// insufficient resources needed to execute the kernel."
void check_local_memory(Kernel& kernel, const KernelInfo& info, const Device& device) {
  const cl_ulong own = info.local_memory_size;
  if (own == 0 && !kernel.takes_local_memory()) return;
  const auto limit = device.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, ~cl_ulong{0});
  require(own <= limit && kernel.local_argument_bytes() <= limit - own, CL_OUT_OF_RESOURCES);
}

std::uint64_t group_size(const NDRange& range) {
  return range.has_local ? range.local[0] * range.local[1] * range.local[2] : 0;
}

// "CL_INVALID_WORK_GROUP_SIZE ... if the total number of work-items in the work-group is greater than
// CL_KERNEL_WORK_GROUP_SIZE." NVIDIA's driver reports 256 there, but launches 1024 if the registers suffice. What one
// member of an automatic device launches says nothing of the others.
bool is_doubtful(Kernel& kernel, const Device& device, const NDRange& range) {
  const std::size_t said = kernel.info_on(device).work_group_size;
  const bool is_above = said != 0 && group_size(range) > std::max(said, kernel.launched_group(device));
  require(!is_above || !device.is_automatic(), CL_INVALID_WORK_GROUP_SIZE);
  return is_above;
}

NDRange make_range(const Device& device, cl_uint dimensions, const size_t* offset, const size_t* global,
                   const size_t* local) {
  require(dimensions >= 1 && dimensions <= 3, CL_INVALID_WORK_DIMENSION);
  // Before OpenCL 2.1 an empty range is an error; since then it does nothing.
  const bool may_be_empty = version_of(device) >= 21;
  require(global != nullptr || may_be_empty, CL_INVALID_GLOBAL_WORK_SIZE);
  NDRange range{dimensions, {0, 0, 0}, {1, 1, 1}, local != nullptr, {1, 1, 1}};
  const auto bits = device.number<cl_uint>(CL_DEVICE_ADDRESS_BITS, 64);
  const std::uint64_t limit = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  for (cl_uint i = 0; i < dimensions; ++i) {
    range.global[i] = global == nullptr ? 0 : global[i];
    if (offset != nullptr) range.offset[i] = offset[i];
    if (local != nullptr) range.local[i] = local[i];
    require(range.global[i] != 0 || may_be_empty, CL_INVALID_GLOBAL_WORK_SIZE);
    require(range.global[i] <= limit, CL_INVALID_GLOBAL_WORK_SIZE);
    // "CL_INVALID_GLOBAL_OFFSET if global_work_size + global_work_offset overflows."
    require(range.offset[i] <= limit - range.global[i], CL_INVALID_GLOBAL_OFFSET);
  }
  return range;
}

void check_arguments(CommandQueue& queue, Kernel& kernel) {
  require(kernel.arguments_complete(), CL_INVALID_KERNEL_ARGS);
  const MutexLock lock(kernel.mutex());
  for (const Kernel::Argument& argument : kernel.arguments()) {
    // "CL_INVALID_OPERATION if SVM pointers are passed as arguments to a kernel and the device does not support SVM."
    require(argument.kind != ArgumentKind::kSvm || svm_capabilities(queue.device()) != 0, CL_INVALID_OPERATION);
    if (!argument.memory) continue;
    if (argument.memory->image() != nullptr) {
      icd::require_takes_image(queue.device(), *argument.memory.get());
    } else {
      icd::buffer_of(queue, argument.memory->handle());
    }
  }
}

}  // namespace

namespace remotecl::icd {

NDRange checked_range(CommandQueue& queue, Kernel& kernel, cl_uint dimensions, const std::size_t* offset,
                      const std::size_t* global, const std::size_t* local) {
  // "CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built program executable available for device."
  require(kernel.program().ready_on(queue.device()), CL_INVALID_PROGRAM_EXECUTABLE);
  NDRange range = make_range(queue.device(), dimensions, offset, global, local);
  check_arguments(queue, kernel);
  if (is_empty(range)) return range;
  const KernelInfo& info = kernel.info_on(queue.device());
  check_local_memory(kernel, info, queue.device());
  check_local(kernel, info, queue.device(), range);
  return range;
}

bool is_empty(const NDRange& range) {
  return std::any_of(range.global.begin(), range.global.begin() + range.dimensions,
                     [](std::uint64_t size) { return size == 0; });
}

}  // namespace remotecl::icd

namespace {

// Waits for the driver's answer to the launch, so that a refusal is an error of this call, as it is natively.
// A size that was launched once is not doubtful again.
cl_int enqueue_doubtful(CommandQueue& queue, Kernel& kernel, const NDRange& range, cl_command_type type,
                        const Dependencies& dependencies, Ref<Event>& event) {
  Event* made = nullptr;
  const cl_int code = enqueue_kernel(queue, kernel, range, type, dependencies.wait(), &made);
  if (code != CL_SUCCESS) return code;
  event = Ref<Event>::adopt(made);
  Device& device = event->queue()->device();
  std::size_t said = 0;  // this query is answered after the launch, whatever the answer is
  kernel.query(device, KernelQuery::kWorkGroup, CL_KERNEL_WORK_GROUP_SIZE, {}, sizeof said, &said, nullptr);
  const cl_int status = event->status();
  if (status == CL_INVALID_WORK_GROUP_SIZE || status == CL_OUT_OF_RESOURCES) return status;
  if (status >= 0) kernel.set_launched_group(queue.device(), group_size(range));
  return CL_SUCCESS;
}

cl_int enqueue_range(cl_command_queue command_queue, cl_kernel kernel_handle, cl_uint dimensions, const size_t* offset,
                     const size_t* global, const size_t* local, cl_command_type type, cl_uint count,
                     const cl_event* list, cl_event* event) {
  CommandQueue& queue = object<CommandQueue>(command_queue);
  Kernel& kernel = object<Kernel>(kernel_handle);
  require(&kernel.context() == &queue.context(), CL_INVALID_CONTEXT);
  Dependencies dependencies(queue.context(), count, list, event);
  require(!queue.device().lost(), CL_DEVICE_NOT_AVAILABLE);
  const NDRange range = icd::checked_range(queue, kernel, dimensions, offset, global, local);
  if (icd::is_empty(range)) {
    return dependencies.finish(enqueue_marker(queue, false, type, dependencies.wait(), dependencies.event()));
  }
  if (!is_doubtful(kernel, queue.device(), range)) {
    return dependencies.finish(enqueue_kernel(queue, kernel, range, type, dependencies.wait(), dependencies.event()));
  }
  Ref<Event> made;
  const cl_int code = enqueue_doubtful(queue, kernel, range, type, dependencies, made);
  if (code == CL_SUCCESS && dependencies.event() != nullptr) *dependencies.event() = made.detach();
  return dependencies.finish(code);
}

void suggest_range(cl_command_queue command_queue, cl_kernel kernel_handle, cl_uint dimensions, const size_t* offset,
                   const size_t* global, size_t* suggested) {
  CommandQueue& queue = object<CommandQueue>(command_queue);
  Kernel& kernel = object<Kernel>(kernel_handle);
  require(&kernel.context() == &queue.context(), CL_INVALID_CONTEXT);
  require(kernel.program().ready_on(queue.device()), CL_INVALID_PROGRAM_EXECUTABLE);
  require(kernel.arguments_complete(), CL_INVALID_KERNEL_ARGS);
  require(suggested != nullptr, CL_INVALID_VALUE);
  const NDRange range = make_range(queue.device(), dimensions, offset, global, nullptr);
  // "CL_INVALID_GLOBAL_WORK_SIZE if global_work_size is NULL or if any of the values specified ... are 0."
  for (cl_uint i = 0; i < dimensions; ++i) require(range.global[i] != 0, CL_INVALID_GLOBAL_WORK_SIZE);
  const cl_int error = suggest_local_size(queue, kernel, range, suggested);
  require(error == CL_SUCCESS, error);
}

cl_int enqueue_point(cl_command_queue command_queue, bool is_barrier, cl_uint count, const cl_event* list,
                     cl_event* event) {
  CommandQueue& queue = object<CommandQueue>(command_queue);
  Dependencies dependencies(queue.context(), count, list, event);
  const cl_command_type type = is_barrier ? CL_COMMAND_BARRIER : CL_COMMAND_MARKER;
  return dependencies.finish(enqueue_marker(queue, is_barrier, type, dependencies.wait(), dependencies.event()));
}

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                       const size_t* offset, const size_t* global, const size_t* local,
                                                       cl_uint count, const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    return enqueue_range(queue, kernel, dimensions, offset, global, local, CL_COMMAND_NDRANGE_KERNEL, count, list,
                         event);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                                              const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    const size_t one = 1;
    return enqueue_range(queue, kernel, 1, nullptr, &one, &one, CL_COMMAND_TASK, count, list, event);
  });
}

// cl_khr_suggested_local_work_size.
CL_API_ENTRY cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSizeKHR(cl_command_queue queue, cl_kernel kernel,
                                                                     cl_uint dimensions, const size_t* offset,
                                                                     const size_t* global, size_t* suggested) {
  return icd::enter([&] { suggest_range(queue, kernel, dimensions, offset, global, suggested); });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* list,
                                                            cl_event* event) {
  return icd::enter([&] { return enqueue_point(queue, false, count, list, event); });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count,
                                                             const cl_event* list, cl_event* event) {
  return icd::enter([&] { return enqueue_point(queue, true, count, list, event); });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarker(cl_command_queue queue, cl_event* event) {
  return icd::enter([&] {
    object<CommandQueue>(queue);
    require(event != nullptr, CL_INVALID_VALUE);
    return enqueue_point(queue, false, 0, nullptr, event);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue queue) {
  return icd::enter([&] { return enqueue_point(queue, true, 0, nullptr, nullptr); });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* list) {
  return icd::enter([&] {
    object<CommandQueue>(queue);
    // "CL_INVALID_VALUE if num_events is 0 or event_list is NULL."
    require(count != 0 && list != nullptr, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; ++i) object<Event>(list[i]);
    return enqueue_point(queue, true, count, list, nullptr);
  });
}
