#include <array>

#include "server/program/program_builder.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kValueSizeMax = 1024;

template <class T>
T kernel_number(cl_kernel kernel, cl_kernel_info name) {
  T value{};
  return clGetKernelInfo(kernel, name, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}

std::string kernel_text(cl_kernel kernel, cl_kernel_info name) {
  std::size_t size = 0;
  if (clGetKernelInfo(kernel, name, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  clGetKernelInfo(kernel, name, size, text.data(), nullptr);
  return text.c_str();
}

std::string argument_text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name) {
  std::size_t size = 0;
  if (clGetKernelArgInfo(kernel, index, name, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  clGetKernelArgInfo(kernel, index, name, size, text.data(), nullptr);
  return text.c_str();
}

template <class T>
T work_group_number(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name) {
  T value{};
  const cl_int error = clGetKernelWorkGroupInfo(kernel, device, name, sizeof value, &value, nullptr);
  return error == CL_SUCCESS ? value : T{};
}

struct ValueSize {
  bool accepted;       // accepts some value of some size
  std::uint32_t size;  // 0: the driver does not check it
};

ValueSize probe_value_size(cl_kernel kernel, cl_uint index) {
  static const std::array<std::byte, kValueSizeMax + 1> zeros{};
  const auto accepts = [&](std::size_t size) {
    return clSetKernelArg(kernel, index, size, zeros.data()) == CL_SUCCESS;
  };
  const auto checked = [&](std::size_t size) {
    return ValueSize{true, accepts(size + 1) ? 0 : static_cast<std::uint32_t>(size)};
  };
  for (std::size_t size = 1; size <= 128; size *= 2) {
    if (accepts(size)) return checked(size);
  }
  for (std::size_t size = 3; size <= kValueSizeMax; ++size) {
    if (accepts(size)) return checked(size);
  }
  return {false, 0};
}

// For drivers that report nothing of arguments unless the program was built with an option. Tries only safe
// values: NVIDIA's driver accepts NULL with any size for any pointer, and corrupts its heap if the size is
// not 8.
ArgumentKind probe_kind(cl_kernel kernel, cl_uint index, std::uint32_t& size) {
  size = 0;
  const cl_mem null = nullptr;
  switch (clSetKernelArg(kernel, index, sizeof null, &null)) {
    case CL_INVALID_ARG_VALUE:  // a value is an error only for __local
      return ArgumentKind::kLocal;
    // NVIDIA's driver accepts a null buffer, but neither a null image nor a null sampler; PoCL accepts them.
    case CL_INVALID_MEM_OBJECT:
      return ArgumentKind::kImage;
    case CL_INVALID_SAMPLER:
      return ArgumentKind::kSampler;
    default:
      break;
  }
  if (clSetKernelArg(kernel, index, sizeof null, nullptr) == CL_SUCCESS) return ArgumentKind::kMemory;
  const ValueSize value = probe_value_size(kernel, index);
  size = value.size;
  return value.accepted ? ArgumentKind::kValue : ArgumentKind::kOther;
}

bool is_opaque(const std::string& type) { return type.starts_with("pipe") || type == "queue_t" || type == "event_t"; }

KernelRecord::Argument inspect_argument(cl_kernel kernel, cl_uint index) {
  KernelRecord::Argument argument;
  ArgumentDescription& values = argument.values;
  values = {};
  cl_kernel_arg_address_qualifier address = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
  cl_kernel_arg_type_qualifier type = CL_KERNEL_ARG_TYPE_NONE;
  values.info_status =
      clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, nullptr);
  if (values.info_status != CL_SUCCESS) {
    values.kind = probe_kind(kernel, index, values.size);
    return argument;
  }
  clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, nullptr);
  clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, nullptr);
  argument.type_name = argument_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME);
  argument.name = argument_text(kernel, index, CL_KERNEL_ARG_NAME);
  values.address_qualifier = address;
  values.access_qualifier = access;
  values.type_qualifier = type;
  if (argument.type_name.starts_with("image")) {
    values.kind = ArgumentKind::kImage;
  } else if (argument.type_name == "sampler_t") {
    values.kind = ArgumentKind::kSampler;
  } else if (is_opaque(argument.type_name)) {
    values.kind = ArgumentKind::kOther;
  } else if (address == CL_KERNEL_ARG_ADDRESS_LOCAL) {
    values.kind = ArgumentKind::kLocal;
  } else if (address == CL_KERNEL_ARG_ADDRESS_PRIVATE) {
    values.kind = ArgumentKind::kValue;
    values.size = probe_value_size(kernel, index).size;
  } else {
    values.kind = ArgumentKind::kMemory;
  }
  return argument;
}

}  // namespace

void hide_arguments(KernelRecord& record) {
  for (KernelRecord::Argument& argument : record.arguments) {
    if (argument.values.info_status != CL_SUCCESS) continue;
    argument.values.info_status = CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    argument.name.clear();
  }
}

KernelRecord inspect_kernel(cl_kernel kernel, cl_device_id device) {
  KernelRecord record;
  record.values = {};
  record.name = kernel_text(kernel, CL_KERNEL_FUNCTION_NAME);
  record.attributes = kernel_text(kernel, CL_KERNEL_ATTRIBUTES);
  record.values.work_group_size = work_group_number<std::size_t>(kernel, device, CL_KERNEL_WORK_GROUP_SIZE);
  const auto compiled =
      work_group_number<std::array<std::size_t, 3>>(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
  record.values.compile_work_group_size = {compiled[0], compiled[1], compiled[2]};
  record.values.local_memory_size = work_group_number<cl_ulong>(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE);
  record.values.preferred_multiple =
      work_group_number<std::size_t>(kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
  record.values.private_memory_size = work_group_number<cl_ulong>(kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE);
  const auto count = kernel_number<cl_uint>(kernel, CL_KERNEL_NUM_ARGS);
  for (cl_uint index = 0; index < count; ++index) record.arguments.push_back(inspect_argument(kernel, index));
  return record;
}

}  // namespace remotecl::server
