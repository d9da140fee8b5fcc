#include "server/program/kernel.h"

#include <cstring>

namespace remotecl::server {

void StoredArgument::set(const KernelArgument& argument) {
  is_set_ = true;
  kind_ = argument.kind;
  number_ = argument.number;
  size_ = argument.value.size();
  if (size_ == 0) return;
  if (size_ <= small_.size()) {
    std::memcpy(small_.data(), argument.value.data(), size_);
  } else {
    large_.assign(argument.value.begin(), argument.value.end());
  }
}

void DeviceKernel::set(const KernelArgument& argument) {
  StoredArgument& stored = arguments[argument.index];
  // Counted twice, because the driver keeps a copy.
  if (!stored.fits(argument.value.size())) {
    held.resize(held.size() + 2 * (argument.value.size() - stored.large_size()));
  }
  stored.set(argument);
}

bool DeviceKernel::fits(const Device& device) const {
  std::uint64_t size = traits.local_memory_size;
  for (const StoredArgument& argument : arguments) {
    if (argument.kind() != ArgumentKind::kLocal) continue;
    if (__builtin_add_overflow(size, argument.number(), &size)) return false;
  }
  return size <= device.traits().local_memory_size;
}

cl_int DeviceKernel::use_svm(const std::shared_ptr<const SvmPointers>& list, Device& device) {
  if (list == nullptr || svm == list) return CL_SUCCESS;
  std::vector<void*> usable;
  for (std::size_t i = 0; i < list->pointers.size(); ++i) {
    if (list->buffers[i]->svm()->usable_on(device)) usable.push_back(list->pointers[i]);
  }
  const cl_int error = clSetKernelExecInfo(native, CL_KERNEL_EXEC_INFO_SVM_PTRS, usable.size() * sizeof(void*),
                                           usable.empty() ? nullptr : usable.data());
  // Not every driver can clear the list; then its old one stays.
  if (error != CL_SUCCESS) return usable.empty() ? CL_SUCCESS : error;
  svm = list;
  return CL_SUCCESS;
}

namespace {

std::uint64_t snapshot_size(const std::vector<StoredArgument>& arguments) {
  constexpr std::uint64_t kEach = sizeof(StoredArgument) + sizeof(Ref<Memory>) + sizeof(Ref<Sampler>);
  std::uint64_t size = sizeof(ArgumentSnapshot) + arguments.size() * kEach;
  for (const StoredArgument& argument : arguments) size += argument.large_size();
  return size;
}

}  // namespace

ArgumentSnapshot::ArgumentSnapshot(const Ref<SessionCounters>& counters, const std::vector<StoredArgument>& stored)
    : held(counters, snapshot_size(stored), HeldMemory::For::kCommand),
      arguments(stored),
      memory(stored.size()),
      samplers(stored.size()) {}

cl_int ArgumentSnapshot::apply(cl_kernel kernel, Device& device) {
  for (std::uint32_t index = 0; index < arguments.size(); ++index) {
    const StoredArgument& argument = arguments[index];
    // "CL_INVALID_KERNEL_ARGS if the kernel argument values have not been specified": the arguments of the
    // native kernel were set later, and nothing keeps them alive.
    if (!argument.is_set()) return CL_INVALID_KERNEL_ARGS;
    cl_int error = CL_SUCCESS;
    if (argument.kind() == ArgumentKind::kLocal) {
      error = clSetKernelArg(kernel, index, argument.number(), nullptr);
    } else if (argument.kind() == ArgumentKind::kSvm) {
      error = clSetKernelArgSVMPointer(kernel, index, reinterpret_cast<void*>(argument.number()));
    } else if (argument.kind() == ArgumentKind::kMemory || argument.kind() == ArgumentKind::kImage) {
      cl_mem native = nullptr;
      if (memory[index]) error = memory[index]->native(device, native);
      if (error == CL_SUCCESS) error = clSetKernelArg(kernel, index, sizeof native, &native);
    } else if (argument.kind() == ArgumentKind::kSampler) {
      cl_sampler native = nullptr;
      if (samplers[index]) error = samplers[index]->native(device, native);
      if (error == CL_SUCCESS) error = clSetKernelArg(kernel, index, sizeof native, &native);
    } else {
      error = clSetKernelArg(kernel, index, argument.value().size(), argument.value().data());
    }
    if (error != CL_SUCCESS) return error;
  }
  return CL_SUCCESS;
}

cl_int Kernel::on(Device& device, DeviceKernel*& kernel) {
  auto& slot = native_[&device];
  if (slot == nullptr) {
    const cl_int error = make(device, slot);
    if (error != CL_SUCCESS) return error;
  }
  kernel = slot.get();
  return CL_SUCCESS;
}

cl_int Kernel::make(Device& device, std::unique_ptr<DeviceKernel>& kernel) const {
  const cl_program program = program_->executable(device);
  if (program == nullptr) return CL_INVALID_PROGRAM_EXECUTABLE;
  cl_int error = CL_SUCCESS;
  std::unique_ptr<_cl_kernel, decltype(&clReleaseKernel)> native(clCreateKernel(program, name_.c_str(), &error),
                                                                 clReleaseKernel);
  if (error != CL_SUCCESS) return error;
  cl_uint count = 0;
  error = clGetKernelInfo(native.get(), CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  if (error != CL_SUCCESS) return error;
  kernel = std::make_unique<DeviceKernel>(counters_, count);
  kernel->native = native.release();
  kernel->traits = program_->kernel_traits(device, name_);
  program_->note_use(device, name_);
  return CL_SUCCESS;
}

}  // namespace remotecl::server
