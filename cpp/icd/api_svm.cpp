// Shared virtual memory: its allocation, and passing it to kernels. api_enqueue_svm.cpp has the commands.
#include <algorithm>
#include <bit>

#include "icd/memory_flags.h"
#include "runtime/client/objects/svm.h"
#include "runtime/client/program/kernel.h"

namespace {

using namespace remotecl;
using icd::object;
using icd::require;

// "If alignment is 0, a default alignment will be used that is equal to the size of largest data type supported by the
// OpenCL implementation": long16.
constexpr cl_uint kDefaultAlignment = 128;
constexpr cl_uint kAlignmentMax = 1u << 30;

// "A failure is returned if ...", in the order of the specification.
bool may_allocate(const Context& context, cl_mem_flags flags, size_t size, cl_uint alignment) {
  // "... CL_MEM_SVM_FINE_GRAIN_BUFFER or CL_MEM_SVM_ATOMICS is specified in flags and these are not supported by at
  // least one device in context; the values specified in flags are not valid": no device has either.
  if ((flags & ~icd::kAccessFlags) != 0 || std::popcount(flags & icd::kAccessFlags) > 1) return false;
  // "size is 0 or > CL_DEVICE_MAX_MEM_ALLOC_SIZE value for any device in context."
  const auto fits = [size](const Device* device) {
    return size <= device->number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, ~cl_ulong{0});
  };
  if (size == 0 || !std::all_of(context.devices().begin(), context.devices().end(), fits)) return false;
  // "alignment is not a power of two or the OpenCL implementation cannot support the specified alignment."
  return alignment == 0 || (std::has_single_bit(alignment) && alignment <= kAlignmentMax);
}

// "CL_INVALID_OPERATION if no devices in the context associated with kernel support SVM."
void require_svm(const Context& context) {
  const auto& devices = context.devices();
  const auto has_svm = [](const Device* device) { return svm_capabilities(*device) != 0; };
  require(std::any_of(devices.begin(), devices.end(), has_svm), CL_INVALID_OPERATION);
}

void set_pointers(Kernel& kernel, size_t size, const void* value) {
  // "If param_value_size is zero and param_value is NULL, previously set SVM pointers are unset."
  require((size == 0) == (value == nullptr) && size % sizeof(void*) == 0, CL_INVALID_VALUE);
  std::vector<void*> pointers(size / sizeof(void*));
  if (size != 0) std::memcpy(pointers.data(), value, size);
  std::vector<Ref<MemoryObject>> memory;
  for (const void* pointer : pointers) {
    // "Each element of this array is a pointer to an SVM allocation": other pointers need system SVM.
    memory.push_back(find_svm(kernel.context(), pointer).memory);
    require(static_cast<bool>(memory.back()), CL_INVALID_VALUE);
  }
  kernel.set_svm_pointers(std::move(pointers), std::move(memory));
}

void set_system_pointers(size_t size, const void* value) {
  cl_bool wanted = CL_FALSE;
  require(value != nullptr && size == sizeof wanted, CL_INVALID_VALUE);
  std::memcpy(&wanted, value, sizeof wanted);
  // "CL_INVALID_OPERATION if param_name is CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM and param_value is CL_TRUE but no
  // devices in context associated with kernel support fine-grain system SVM allocations."
  require(wanted == CL_FALSE, CL_INVALID_OPERATION);
}

}  // namespace

CL_API_ENTRY void* CL_API_CALL clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  return icd::create(nullptr, [&]() -> void* {
    Context& in = object<Context>(context);
    if (!may_allocate(in, flags, size, alignment)) return nullptr;
    return allocate_svm(in, flags, size, alignment == 0 ? kDefaultAlignment : alignment);
  });
}

CL_API_ENTRY void CL_API_CALL clSVMFree(cl_context context, void* pointer) {
  icd::enter([&] { free_svm(object<Context>(context), pointer); });
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void* pointer) {
  return icd::enter([&] {
    Kernel& of = object<Kernel>(kernel);
    require_svm(of.context());
    return of.set_svm_argument(index, pointer);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info name, size_t size,
                                                    const void* value) {
  return icd::enter([&] {
    Kernel& of = object<Kernel>(kernel);
    require_svm(of.context());
    if (name == CL_KERNEL_EXEC_INFO_SVM_PTRS) return set_pointers(of, size, value);
    if (name == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM) return set_system_pointers(size, value);
    throw icd::ApiError{CL_INVALID_VALUE};
  });
}
