// Kernels' arguments, what queries say of them, and running one, which reads and writes all that it was given.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "fakes/driver/built_in.h"
#include "fakes/driver/objects.h"

using namespace remotecl::fake;

namespace {

// As drivers do: that of processors always describes arguments, the other ones where the build asked for it.
bool describes_arguments(cl_kernel kernel) {
  return kernel->program->context->device->is_cpu() || kernel->program->describes_arguments;
}

void touch(std::byte* data, std::size_t size) {
  constexpr std::size_t kStep = 512;
  for (std::size_t at = 0; at < size; at += kStep) data[at] ^= std::byte{1};
  if (size != 0) data[size - 1] ^= std::byte{1};
}

}  // namespace

cl_int clReleaseKernel(cl_kernel kernel) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  release(kernel);
  return CL_SUCCESS;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, std::size_t size, const void* value) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  if (index >= kernel->arguments.size()) return CL_INVALID_ARG_INDEX;
  _cl_kernel::Value& argument = kernel->arguments[index];
  const char kind = kernel->kind_of(index);
  if (kind == kInt || kind == kWide) {
    if (value == nullptr) return CL_INVALID_ARG_VALUE;
    if (size != (kind == kInt ? 4 : 16)) return CL_INVALID_ARG_SIZE;
    std::memcpy(&argument.number, value, sizeof argument.number);
  } else if (kind == kLocal) {
    if (value != nullptr) return CL_INVALID_ARG_VALUE;
    if (size == 0) return CL_INVALID_ARG_SIZE;
  } else {
    if (size != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
    if (kind == kSamplerArgument) {
      cl_sampler sampler = nullptr;
      if (value != nullptr) std::memcpy(&sampler, value, sizeof sampler);
      if (!is(sampler, kSampler)) return CL_INVALID_SAMPLER;
      argument.sampler = sampler;
    } else {
      cl_mem memory = nullptr;
      if (value != nullptr) std::memcpy(&memory, value, sizeof memory);
      if (memory == nullptr && kind == kImage) return CL_INVALID_MEM_OBJECT;
      if (memory != nullptr && (!is(memory, kMemory) || memory->is_image != (kind == kImage))) {
        return CL_INVALID_MEM_OBJECT;
      }
      argument.memory = memory;
      argument.svm = nullptr;
    }
  }
  argument.is_set = true;
  return CL_SUCCESS;
}

cl_int clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void* pointer) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  if (index >= kernel->arguments.size()) return CL_INVALID_ARG_INDEX;
  if (kernel->kind_of(index) != kBuffer && kernel->kind_of(index) != kConstant) return CL_INVALID_ARG_VALUE;
  kernel->arguments[index] = {true, nullptr, nullptr, const_cast<void*>(pointer), 0};
  return CL_SUCCESS;
}

cl_int clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info name, std::size_t size, const void* value) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  if (name != CL_KERNEL_EXEC_INFO_SVM_PTRS || value == nullptr || size == 0) return CL_INVALID_VALUE;
  return CL_SUCCESS;
}

cl_int clGetKernelInfo(cl_kernel kernel, cl_kernel_info name, std::size_t size, void* value, std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  switch (name) {
    case CL_KERNEL_FUNCTION_NAME:
      return answer_text(kernel->name, size, value, size_ret);
    case CL_KERNEL_NUM_ARGS:
      return answer(static_cast<cl_uint>(kernel->arguments.size()), size, value, size_ret);
    case CL_KERNEL_ATTRIBUTES:
      return answer_text("", size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name, std::size_t size, void* value,
                          std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  if (index >= kernel->arguments.size()) return CL_INVALID_ARG_INDEX;
  if (!describes_arguments(kernel)) return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
  const char kind = kernel->kind_of(index);
  switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER: {
      const cl_kernel_arg_address_qualifier qualifier = kind == kBuffer     ? CL_KERNEL_ARG_ADDRESS_GLOBAL
                                                        : kind == kConstant ? CL_KERNEL_ARG_ADDRESS_CONSTANT
                                                        : kind == kLocal    ? CL_KERNEL_ARG_ADDRESS_LOCAL
                                                                            : CL_KERNEL_ARG_ADDRESS_PRIVATE;
      return answer(qualifier, size, value, size_ret);
    }
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
      return answer<cl_kernel_arg_access_qualifier>(kind == kImage && only_reads(kernel->name, index)
                                                        ? CL_KERNEL_ARG_ACCESS_READ_ONLY
                                                        : CL_KERNEL_ARG_ACCESS_NONE,
                                                    size, value, size_ret);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
      return answer<cl_kernel_arg_type_qualifier>(
          kind == kBuffer && only_reads(kernel->name, index) ? CL_KERNEL_ARG_TYPE_CONST : CL_KERNEL_ARG_TYPE_NONE, size,
          value, size_ret);
    case CL_KERNEL_ARG_TYPE_NAME:
      return answer_text(kind == kImage             ? "image2d_t"
                         : kind == kSamplerArgument ? "sampler_t"
                         : kind == kInt             ? "int"
                                                    : "int4",
                         size, value, size_ret);
    case CL_KERNEL_ARG_NAME:
      return answer_text(std::string(1, kind), size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id, cl_kernel_work_group_info name, std::size_t size,
                                void* value, std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  const bool is_custom = kernel->program->context->device->is_custom();
  switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE:
      return answer<std::size_t>(is_custom ? 0 : settings().kernel_group, size, value, size_ret);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      return answer<std::size_t>(is_custom ? 0 : 64, size, value, size_ret);
    case CL_KERNEL_GLOBAL_WORK_SIZE: {
      if (!is_custom) return CL_INVALID_VALUE;
      const std::size_t sizes[3] = {std::size_t{1} << 20, 1, 1};
      return answer_bytes(sizes, sizeof sizes, size, value, size_ret);
    }
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: {
      const std::size_t sizes[3] = {0, 0, 0};
      return answer_bytes(sizes, sizeof sizes, size, value, size_ret);
    }
    case CL_KERNEL_LOCAL_MEM_SIZE:
    case CL_KERNEL_PRIVATE_MEM_SIZE:
      return answer<cl_ulong>(0, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id, cl_kernel_sub_group_info name, std::size_t input_size,
                               const void* input, std::size_t size, void* value, std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  if (name == CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE) {
    if (input == nullptr || input_size == 0 || input_size % sizeof(std::size_t) != 0) return CL_INVALID_VALUE;
    std::size_t first = 0;
    std::memcpy(&first, input, sizeof first);
    return answer<std::size_t>(std::min(first, settings().kernel_group / 2), size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

namespace {

// What the kernel has been given, which has to be right.
cl_int collect(cl_command_queue queue, cl_kernel kernel, Launch& launch, std::vector<void*>& pointers) {
  for (std::size_t i = 0; i < kernel->arguments.size(); ++i) {
    const auto& argument = kernel->arguments[i];
    if (!argument.is_set) return CL_INVALID_KERNEL_ARGS;
    if (argument.memory != nullptr && !is(argument.memory, kMemory)) return CL_INVALID_KERNEL_ARGS;
    if (argument.sampler != nullptr && !is(argument.sampler, kSampler)) return CL_INVALID_KERNEL_ARGS;
    if (argument.memory != nullptr && argument.memory->context.get() != queue->context.get()) return CL_INVALID_CONTEXT;
    if (argument.memory != nullptr) launch.memory.emplace_back(argument.memory);
    if (argument.svm != nullptr) pointers.push_back(argument.svm);
    if (kernel->kind_of(i) == kInt) launch.numbers.push_back(argument.number);
  }
  return CL_SUCCESS;
}

void touch_all(const Launch& launch) {
  for (const auto& one : launch.memory) {
    if (!one->is_image) touch(one->data, one->size);
    if (one->is_image) touch(one->data, one->parent.get() == nullptr ? one->size : 1);
  }
}

}  // namespace

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const std::size_t* offset,
                              const std::size_t* global, const std::size_t* local, cl_uint count, const cl_event* waits,
                              cl_event* event) {
  const DriverLock lock(driver_mutex());
  if (!is(queue, kQueue)) return CL_INVALID_COMMAND_QUEUE;
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  if (dimensions < 1 || dimensions > 3) return CL_INVALID_WORK_DIMENSION;
  Launch launch;
  launch.first = dimensions == 1 && offset != nullptr ? offset[0] : 0;
  launch.count = 1;
  for (cl_uint i = 0; i < dimensions; ++i) {
    if (global[i] == 0) return CL_INVALID_GLOBAL_WORK_SIZE;
    if (local != nullptr && (local[i] == 0 || local[i] > 64)) return CL_INVALID_WORK_GROUP_SIZE;
    launch.count *= global[i];
  }
  std::vector<void*> pointers;
  if (const cl_int error = collect(queue, kernel, launch, pointers); error != CL_SUCCESS) return error;
  const bool prints = kernel->program->code.find("printf") != std::string::npos;
  const std::size_t items = launch.count;
  const auto work = [kernel = Held<_cl_kernel>(kernel), launch = std::move(launch), pointers, prints]() -> cl_int {
    if (const auto error = fault("kernel")) return *error;
    if (computes(kernel->name, launch)) {
      compute(kernel->name, launch);
    } else {
      touch_all(launch);
    }
    // A pointer behind the last byte of its allocation is a right one, which nobody may follow.
    volatile auto sum = pointers.size();
    static_cast<void>(sum);
    if (prints) std::fputs("printed\n", stdout);
    return CL_COMPLETE;
  };
  return enqueue(queue, count, waits, event, work, items, true);
}
