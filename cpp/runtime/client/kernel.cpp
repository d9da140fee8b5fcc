#include "runtime/client/kernel.h"

#include <algorithm>

#include "runtime/client/session.h"
#include "runtime/client/svm.h"

namespace remotecl {

Kernel::Kernel(Ref<Program> program, KernelInfo info)
    : program_(std::move(program)), info_(std::move(info)), arguments_(info_.arguments.size()) {
  program_->kernel_attached(1);
}

Kernel::Kernel(Kernel& other) : program_(other.program_), info_(other.info_) {
  const std::lock_guard lock(other.mutex_);
  arguments_ = other.arguments_;
  last_version_ = other.last_version_;
  svm_pointers_ = other.svm_pointers_;
  svm_memory_ = other.svm_memory_;
  if (!svm_pointers_.empty()) svm_unsent_ = ~std::uint64_t{0};
  program_->kernel_attached(1);
}

Kernel::~Kernel() {
  program_->kernel_attached(-1);
  for (Device* device : context().devices()) {
    const std::uint64_t bit = std::uint64_t{1} << device->session().index();
    if ((created_on_ & bit) != 0) device->session().send(ReleaseKernel{id_});
    created_on_ &= ~bit;
  }
}

void Kernel::create_on(Session& session) {
  const std::uint64_t bit = std::uint64_t{1} << session.index();
  if ((created_on_ & bit) != 0) return;
  created_on_ |= bit;
  session.send(CreateKernel{id_, program_->id(), info_.name});
}

const KernelInfo& Kernel::info_on(const Device& device) {
  const std::lock_guard lock(mutex_);
  const auto at = per_device_.find(&device);
  if (at != per_device_.end()) return at->second;
  const auto info = program_->kernel_info(info_.name, &device);
  return per_device_.emplace(&device, info ? *info : info_).first->second;
}

cl_int Kernel::set_argument(cl_uint index, std::size_t size, const void* value) {
  if (index >= arguments_.size()) return CL_INVALID_ARG_INDEX;
  const ArgumentInfo& info = info_.arguments[index];
  const std::lock_guard lock(mutex_);
  Argument& argument = arguments_[index];
  switch (info.kind) {
    case ArgumentKind::kLocal:
      if (value != nullptr) return CL_INVALID_ARG_VALUE;
      if (size == 0) return CL_INVALID_ARG_SIZE;
      if (argument.set && argument.number == size) return CL_SUCCESS;
      argument.number = size;
      break;
    case ArgumentKind::kMemory: {
      if (size != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
      cl_mem handle = nullptr;
      if (value != nullptr) std::memcpy(&handle, value, sizeof handle);
      MemoryObject* memory = nullptr;
      if (handle != nullptr) {
        memory = from_handle<MemoryObject>(handle);
        if (memory == nullptr || &memory->context() != &context()) return CL_INVALID_MEM_OBJECT;
      }
      if (argument.set && argument.memory.get() == memory) return CL_SUCCESS;
      argument.memory = Ref<MemoryObject>(memory);
      break;
    }
    case ArgumentKind::kOther:
    case ArgumentKind::kSvm:        // says how one is set, not what one is
      return CL_INVALID_ARG_VALUE;  // images and samplers: no object of that kind can exist yet
    case ArgumentKind::kValue: {
      if (value == nullptr) return CL_INVALID_ARG_VALUE;
      if (info.size != 0 ? size != info.size : size == 0) return CL_INVALID_ARG_SIZE;
      const auto* bytes = static_cast<const std::byte*>(value);
      if (argument.set && std::equal(argument.value.begin(), argument.value.end(), bytes, bytes + size)) {
        return CL_SUCCESS;
      }
      argument.value.assign(bytes, bytes + size);
      break;
    }
  }
  argument.kind = info.kind;
  argument.set = true;
  argument.version = ++last_version_;
  return CL_SUCCESS;
}

cl_int Kernel::set_svm_argument(cl_uint index, const void* pointer) {
  if (index >= arguments_.size()) return CL_INVALID_ARG_INDEX;
  if (info_.arguments[index].kind != ArgumentKind::kMemory) return CL_INVALID_ARG_VALUE;
  SvmPlace place;
  if (pointer != nullptr) {
    place = find_svm(context(), pointer);
    if (!place.memory) return CL_INVALID_ARG_VALUE;
  }
  const std::lock_guard lock(mutex_);
  Argument& argument = arguments_[index];
  argument.kind = pointer == nullptr ? ArgumentKind::kMemory : ArgumentKind::kSvm;
  argument.number = reinterpret_cast<std::uintptr_t>(pointer);
  argument.memory = std::move(place.memory);
  argument.set = true;
  argument.version = ++last_version_;
  return CL_SUCCESS;
}

void Kernel::set_svm_pointers(std::vector<void*> pointers, std::vector<Ref<MemoryObject>> memory) {
  const std::lock_guard lock(mutex_);
  svm_pointers_ = std::move(pointers);
  svm_memory_ = std::move(memory);
  svm_unsent_ = ~std::uint64_t{0};
}

void Kernel::send_svm_pointers(Session& session) {
  const std::uint64_t bit = std::uint64_t{1} << session.index();
  if ((svm_unsent_ & bit) == 0) return;
  svm_unsent_ &= ~bit;
  std::vector<std::uint64_t> addresses;
  for (void* pointer : svm_pointers_) addresses.push_back(reinterpret_cast<std::uintptr_t>(pointer));
  session.send(SetKernelSvm{id_, std::span<const std::uint64_t>(addresses)});
}

bool Kernel::arguments_complete() {
  const std::lock_guard lock(mutex_);
  return std::all_of(arguments_.begin(), arguments_.end(),
                     [](const Argument& argument) { return argument.set && !argument.memory.is_gone(); });
}

cl_ulong Kernel::local_argument_bytes() {
  const std::lock_guard lock(mutex_);
  cl_ulong bytes = 0;
  for (const Argument& argument : arguments_) {
    if (argument.set && argument.kind == ArgumentKind::kLocal) bytes += argument.number;
  }
  return bytes;
}

std::vector<std::uint64_t>& Kernel::sent_versions(const Device& device) {
  std::vector<std::uint64_t>& versions = sent_[&device];
  versions.resize(arguments_.size());
  return versions;
}

bool Kernel::may_write(std::size_t index) const {
  const Argument& argument = arguments_[index];
  if (!argument.memory || (argument.memory->flags() & CL_MEM_READ_ONLY) != 0) return false;
  // Shared memory holds pointers to itself, which need not be as constant as the argument is.
  if (argument.kind == ArgumentKind::kSvm || argument.memory->uses_svm()) return true;
  const ArgumentInfo& info = info_.arguments[index];
  if (info.info_status != CL_SUCCESS) return true;
  return info.address != CL_KERNEL_ARG_ADDRESS_CONSTANT && (info.type_qualifier & CL_KERNEL_ARG_TYPE_CONST) == 0;
}

}  // namespace remotecl
