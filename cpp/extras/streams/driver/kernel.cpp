// Kernels, and calls of them.
#include <algorithm>
#include <cstring>

#include "extras/streams/driver/command.h"
#include "extras/streams/driver/plugin_log.h"

using namespace remotecl::plugins;

_cl_kernel::_cl_kernel(cl_program program, std::uint32_t index)
    : program(program), index(index), arguments(description().arguments.size()) {}

const KernelDescription& _cl_kernel::description() const { return program->context->device->kernels[index]; }

cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* error) {
  if (program == nullptr) return failed<_cl_kernel>(CL_INVALID_PROGRAM, error);
  for (const std::uint32_t index : program->kernels) {
    if (program->context->device->kernels[index].name == name) return made(new _cl_kernel(program, index), error);
  }
  return failed<_cl_kernel>(CL_INVALID_KERNEL_NAME, error);
}

cl_int clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* kernels, cl_uint* count_ret) {
  if (program == nullptr) return CL_INVALID_PROGRAM;
  if (kernels != nullptr && count < program->kernels.size()) return CL_INVALID_VALUE;
  for (std::size_t i = 0; kernels != nullptr && i < program->kernels.size(); ++i) {
    kernels[i] = new _cl_kernel(program, program->kernels[i]);
  }
  if (count_ret != nullptr) *count_ret = static_cast<cl_uint>(program->kernels.size());
  return CL_SUCCESS;
}

cl_int clRetainKernel(cl_kernel kernel) {
  retain(kernel);
  return CL_SUCCESS;
}

cl_int clReleaseKernel(cl_kernel kernel) {
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  release(kernel);
  return CL_SUCCESS;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, std::size_t size, const void* value) {
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  if (index >= kernel->arguments.size()) return CL_INVALID_ARG_INDEX;
  const ArgumentDescription& argument = kernel->description().arguments[index];
  _cl_kernel::Value& set = kernel->arguments[index];
  if (argument.is_buffer()) {
    if (size != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
    set.memory = value == nullptr ? nullptr : *static_cast<const cl_mem*>(value);
  } else {
    if (value == nullptr) return CL_INVALID_ARG_VALUE;
    if (size != argument.bytes) return CL_INVALID_ARG_SIZE;
    const auto* bytes = static_cast<const std::byte*>(value);
    set.bytes.assign(bytes, bytes + size);
  }
  set.is_set = true;
  return CL_SUCCESS;
}

cl_int clGetKernelInfo(cl_kernel kernel, cl_kernel_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_KERNEL_FUNCTION_NAME:
      return answer_text(kernel->description().name, size, value, size_ret);
    case CL_KERNEL_NUM_ARGS:
      return answer(static_cast<cl_uint>(kernel->arguments.size()), size, value, size_ret);
    case CL_KERNEL_REFERENCE_COUNT:
      return answer(static_cast<cl_uint>(kernel->references.load()), size, value, size_ret);
    case CL_KERNEL_CONTEXT:
      return answer(kernel->program->context.get(), size, value, size_ret);
    case CL_KERNEL_PROGRAM:
      return answer(kernel->program.get(), size, value, size_ret);
    case CL_KERNEL_ATTRIBUTES:
      return answer_text("", size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

// An input is const, so that its copies elsewhere stay valid; OpenCL has no such qualifier for an output.
cl_int clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name, std::size_t size, void* value,
                          std::size_t* size_ret) {
  if (index >= kernel->arguments.size()) return CL_INVALID_ARG_INDEX;
  const ArgumentDescription& argument = kernel->description().arguments[index];
  switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
      return answer<cl_kernel_arg_address_qualifier>(
          argument.is_buffer() ? CL_KERNEL_ARG_ADDRESS_GLOBAL : CL_KERNEL_ARG_ADDRESS_PRIVATE, size, value, size_ret);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
      return answer<cl_kernel_arg_access_qualifier>(CL_KERNEL_ARG_ACCESS_NONE, size, value, size_ret);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
      return answer<cl_kernel_arg_type_qualifier>(
          argument.kind == ArgumentKind::kInput ? CL_KERNEL_ARG_TYPE_CONST : CL_KERNEL_ARG_TYPE_NONE, size, value,
          size_ret);
    case CL_KERNEL_ARG_TYPE_NAME:
      return answer_text(argument.type, size, value, size_ret);
    case CL_KERNEL_ARG_NAME:
      return answer_text(argument.name, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info name, std::size_t size, void* value,
                                std::size_t* size_ret) {
  switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE:
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      return answer<std::size_t>(1, size, value, size_ret);
    case CL_KERNEL_GLOBAL_WORK_SIZE:
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: {
      const std::size_t one = name == CL_KERNEL_GLOBAL_WORK_SIZE ? 1 : 0;
      const std::size_t sizes[3] = {one, one, one};
      return answer_bytes(sizes, sizeof sizes, size, value, size_ret);
    }
    case CL_KERNEL_LOCAL_MEM_SIZE:
    case CL_KERNEL_PRIVATE_MEM_SIZE:
      return answer<cl_ulong>(0, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

namespace {

// What a call of a kernel needs until it has ended.
struct Launch {
  Held<_cl_kernel> kernel;
  std::vector<Held<_cl_mem>> memory;
  std::vector<std::vector<std::byte>> values;
  Call call;
};

void add_value(Launch& launch, const _cl_kernel::Value& set) {
  launch.values.push_back(set.bytes);
  launch.call.arguments.push_back({launch.values.back().data(), set.bytes.size(), true, false, nullptr});
}

cl_int add_buffer(Launch& launch, const ArgumentDescription& argument, cl_mem memory) {
  CallArgument& given = launch.call.arguments.emplace_back();
  given.is_read = argument.kind != ArgumentKind::kOutput;
  given.is_written = argument.kind != ArgumentKind::kInput;
  if (memory == nullptr) return CL_SUCCESS;
  if (memory->context.get() != launch.kernel->program->context.get()) return CL_INVALID_CONTEXT;
  if (memory->size < argument.bytes) return CL_INVALID_BUFFER_SIZE;
  const bool is_copied = memory->size <= kCopiedMax;
  if (!is_copied && memory->block == nullptr) return CL_INVALID_MEM_OBJECT;
  given.data = memory->data;
  given.size = memory->size;
  if (!is_copied) given.block = memory->block;
  launch.memory.emplace_back(memory);
  return CL_SUCCESS;
}

cl_int collect(Launch& launch) {
  const auto& described = launch.kernel->description().arguments;
  launch.call.kernel = launch.kernel->index;
  for (std::size_t i = 0; i < described.size(); ++i) {
    const _cl_kernel::Value& set = launch.kernel->arguments[i];
    if (!set.is_set) return CL_INVALID_KERNEL_ARGS;
    if (!described[i].is_buffer()) {
      add_value(launch, set);
    } else if (const cl_int error = add_buffer(launch, described[i], set.memory); error != CL_SUCCESS) {
      return error;
    }
  }
  return CL_SUCCESS;
}

Outcome call_plugin(_cl_program& program, const Call& call) {
  const cl_device_id device = program.context->device;
  if (program.instance == nullptr) program.instance = device->platform->catalogue.open(device->entry);
  if (program.instance != nullptr) return program.instance->execute(call);
  return {CL_OUT_OF_RESOURCES, "as many programs as the server allows use plugins (--plugin-instances)"};
}

void write_error(const std::string& text, const CallArgument& to) {
  if (to.size == 0) return;
  const std::size_t count = std::min<std::size_t>(text.size(), to.size - 1);
  std::memcpy(to.data, text.data(), count);
  to.data[count] = std::byte{0};
}

cl_int run(const Launch& launch) {
  _cl_program& program = *launch.kernel->program.get();
  const KernelDescription& kernel = launch.kernel->description();
  if (&kernel == &program.context->device->kernels.back()) {
    write_error(program.last_error, launch.call.arguments[0]);
    return CL_COMPLETE;
  }
  const Outcome outcome = call_plugin(program, launch.call);
  if (outcome.is_good()) return CL_COMPLETE;
  program.last_error = outcome.why;
  log_line(program.context->device->entry.device.name + ": " + kernel.name + " failed: " + outcome.why);
  return outcome.code;
}

}  // namespace

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const std::size_t*,
                              const std::size_t* global, const std::size_t*, cl_uint count, const cl_event* waits,
                              cl_event* event) {
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  if (dimensions < 1 || dimensions > 3) return CL_INVALID_WORK_DIMENSION;
  // One launch is one call.
  for (cl_uint i = 0; i < dimensions; ++i) {
    if (global == nullptr || global[i] != 1) return CL_INVALID_GLOBAL_WORK_SIZE;
  }
  auto launch = std::make_shared<Launch>();
  launch->kernel = Held<_cl_kernel>(kernel);
  launch->values.reserve(kernel->arguments.size());  // calls point into them
  if (const cl_int error = collect(*launch); error != CL_SUCCESS) return error;
  Request request{queue, CL_COMMAND_NDRANGE_KERNEL, count, waits, event};
  request.program = kernel->program.get();
  return enqueue(request, [launch] { return run(*launch); });
}

cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event* waits, cl_event* event) {
  const std::size_t one = 1;
  return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, count, waits, event);
}
