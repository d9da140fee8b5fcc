#include "runtime/client/program/kernel.h"

#include <algorithm>

#include "runtime/client/objects/handle_registry.h"
#include "runtime/client/objects/svm.h"
#include "runtime/client/session/session.h"
#include "runtime/protocol/image_types.h"

namespace remotecl {
namespace {

template <class Handle>
Handle handle_at(const void* value) {
  Handle handle = nullptr;
  if (value != nullptr) std::memcpy(&handle, value, sizeof handle);
  return handle;
}

// The kind of value that an argument is set to. If the native driver does not say what the kernel declares,
// the handle of an image or sampler is recognised by itself.
ArgumentKind kind_of(const ArgumentInfo& info, std::size_t size, const void* value) {
  if (!info.may_be_opaque || size != sizeof(void*) || value == nullptr) return info.kind;
  const HandleBase* handle = HandleRegistry::find(value);
  if (handle == nullptr) return info.kind;
  return handle->tag == HandleTag::kSampler ? ArgumentKind::kSampler : ArgumentKind::kImage;
}

bool has_local_argument(const KernelInfo& info) {
  return std::any_of(info.arguments.begin(), info.arguments.end(),
                     [](const ArgumentInfo& argument) { return argument.kind == ArgumentKind::kLocal; });
}

}  // namespace

Kernel::Kernel(Ref<Program> program, KernelInfo info)
    : program_(std::move(program)),
      info_(std::move(info)),
      takes_local_memory_(has_local_argument(info_)),
      arguments_(info_.arguments.size()) {
  program_->kernel_attached(1);
}

Kernel::Kernel(Kernel& other)
    : program_(other.program_), info_(other.info_), takes_local_memory_(other.takes_local_memory_) {
  const MutexLock lock(other.mutex_);
  arguments_ = other.arguments_;
  last_version_ = other.last_version_;
  svm_pointers_ = other.svm_pointers_;
  svm_memory_ = other.svm_memory_;
  has_svm_pointers_ = !svm_pointers_.empty();
  program_->kernel_attached(1);
}

Kernel::~Kernel() {
  program_->kernel_attached(-1);
  for (Device* device : context().devices()) {
    const std::uint32_t session = device->session().index();
    if (created_on_.contains(session)) device->session().send(ReleaseKernel{id_});
    created_on_.remove(session);
  }
}

void Kernel::create_on(Session& session) {
  if (created_on_.contains(session.index())) return;
  created_on_.add(session.index());
  session.send(CreateKernel{id_, program_->id(), info_.name});
}

const KernelInfo& Kernel::info_on(const Device& device) {
  {
    const MutexLock lock(mutex_);
    const auto at = per_device_.find(&device);
    if (at != per_device_.end()) return at->second;
  }
  program_->ready_on(device);
  const MutexLock lock(mutex_);
  const auto info = program_->kernel_info(info_.name, &device);
  return per_device_.emplace(&device, info ? *info : info_).first->second;
}

std::size_t Kernel::launched_group(const Device& device) {
  const MutexLock lock(mutex_);
  const auto at = launched_groups_.find(&device);
  return at == launched_groups_.end() ? 0 : at->second;
}

void Kernel::set_launched_group(const Device& device, std::size_t size) {
  const MutexLock lock(mutex_);
  std::size_t& known = launched_groups_[&device];
  known = std::max(known, size);
}

cl_int Kernel::set_argument(cl_uint index, std::size_t size, const void* value) {
  if (index >= info_.arguments.size()) return CL_INVALID_ARG_INDEX;
  const ArgumentInfo& info = info_.arguments[index];
  const MutexLock lock(mutex_);
  Argument& argument = arguments_[index];
  const ArgumentKind kind = kind_of(info, size, value);
  // Resets the argument only after the new value has been checked.
  const auto renewed = [&argument, kind]() -> Argument& {
    if (argument.kind != kind) argument = {};
    return argument;
  };
  switch (kind) {
    case ArgumentKind::kLocal:
      if (value != nullptr) return CL_INVALID_ARG_VALUE;
      if (size == 0) return CL_INVALID_ARG_SIZE;
      if (argument.set && argument.number == size) return CL_SUCCESS;
      renewed().number = size;
      break;
    case ArgumentKind::kMemory:
    case ArgumentKind::kImage: {
      MemoryObject* memory = nullptr;
      const cl_int error = find_memory(info, kind, size, value, memory);
      if (error != CL_SUCCESS) return error;
      const bool is_same = !argument.memory.is_gone() && argument.memory.get() == memory;
      if (argument.set && argument.kind == kind && is_same) return CL_SUCCESS;
      renewed().memory = Ref<MemoryObject>(memory);
      break;
    }
    case ArgumentKind::kSampler: {
      Sampler* sampler = nullptr;
      const cl_int error = find_sampler(size, value, sampler);
      if (error != CL_SUCCESS) return error;
      if (argument.set && argument.sampler.get() == sampler) return CL_SUCCESS;
      renewed().sampler = Ref<Sampler>(sampler);
      break;
    }
    case ArgumentKind::kOther:
    case ArgumentKind::kSvm:        // a way to set an argument, not a declared kind
      return CL_INVALID_ARG_VALUE;  // pipes and queues: no such object can exist yet
    case ArgumentKind::kValue: {
      if (value == nullptr) return CL_INVALID_ARG_VALUE;
      if (info.size != 0 ? size != info.size : size == 0) return CL_INVALID_ARG_SIZE;
      const auto* bytes = static_cast<const std::byte*>(value);
      if (argument.set && std::equal(argument.value.begin(), argument.value.end(), bytes, bytes + size)) {
        return CL_SUCCESS;
      }
      renewed().value.assign(bytes, bytes + size);
      break;
    }
  }
  argument.kind = kind;
  argument.set = true;
  argument.version = ++last_version_;
  return CL_SUCCESS;
}

cl_int Kernel::set_svm_argument(cl_uint index, const void* pointer) {
  if (index >= info_.arguments.size()) return CL_INVALID_ARG_INDEX;
  if (info_.arguments[index].kind != ArgumentKind::kMemory) return CL_INVALID_ARG_VALUE;
  SvmAddress address;
  if (pointer != nullptr) {
    address = find_svm(context(), pointer);
    if (!address.memory) return CL_INVALID_ARG_VALUE;
  }
  const MutexLock lock(mutex_);
  Argument& argument = arguments_[index];
  argument.kind = pointer == nullptr ? ArgumentKind::kMemory : ArgumentKind::kSvm;
  argument.number = reinterpret_cast<std::uintptr_t>(pointer);
  argument.memory = address.memory;
  argument.set = true;
  argument.version = ++last_version_;
  return CL_SUCCESS;
}

void Kernel::set_svm_pointers(std::vector<void*> pointers, std::vector<Ref<MemoryObject>> memory) {
  const MutexLock lock(mutex_);
  svm_pointers_ = std::move(pointers);
  svm_memory_ = std::move(memory);
  has_svm_pointers_ = true;
  svm_sent_.clear();
}

void Kernel::send_svm_pointers(Session& session) {
  if (!has_svm_pointers_ || svm_sent_.contains(session.index())) return;
  svm_sent_.add(session.index());
  std::vector<std::uint64_t> addresses;
  for (void* pointer : svm_pointers_) addresses.push_back(reinterpret_cast<std::uintptr_t>(pointer));
  session.send(SetKernelSvm{id_, std::span<const std::uint64_t>(addresses)});
}

cl_int Kernel::find_memory(const ArgumentInfo& info, ArgumentKind kind, std::size_t size, const void* value,
                           MemoryObject*& memory) const {
  if (size != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
  if (kind == ArgumentKind::kMemory) {
    const auto handle = handle_at<cl_mem>(value);
    if (handle == nullptr) return CL_SUCCESS;
    memory = from_handle<MemoryObject>(handle);
    // "CL_INVALID_MEM_OBJECT for an argument declared to be a memory object when the specified arg_value is not a valid
    // memory object."
    if (memory == nullptr || &memory->context() != &context()) return CL_INVALID_MEM_OBJECT;
    return memory->image() == nullptr ? CL_SUCCESS : CL_INVALID_ARG_VALUE;
  }
  // "CL_INVALID_ARG_VALUE if arg_value specified is not a valid value": NULL is valid for pointers only.
  if (value == nullptr) return CL_INVALID_ARG_VALUE;
  // A value may be no valid address, so it must not be dereferenced.
  HandleBase* const handle = HandleRegistry::find(value);
  if (handle == nullptr || handle->tag != HandleTag::kMemory) return CL_INVALID_MEM_OBJECT;
  memory = from_handle<MemoryObject>(handle_at<cl_mem>(value));
  if (&memory->context() != &context()) return CL_INVALID_MEM_OBJECT;
  const cl_mem_object_type wanted = image_type_of(info.type_name);
  if (wanted != 0 && memory->image()->shape.type != wanted) return CL_INVALID_ARG_VALUE;
  // "CL_INVALID_ARG_VALUE if the argument is an image declared with the read_only qualifier and arg_value refers to an
  // image object created with cl_mem_flags of CL_MEM_WRITE_ONLY or if the image argument is declared with the
  // write_only qualifier and arg_value refers to an image object created with cl_mem_flags of CL_MEM_READ_ONLY."
  const bool reads = info.access == CL_KERNEL_ARG_ACCESS_READ_ONLY || info.access == CL_KERNEL_ARG_ACCESS_READ_WRITE;
  const bool writes = info.access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY || info.access == CL_KERNEL_ARG_ACCESS_READ_WRITE;
  if (reads && (memory->flags() & CL_MEM_WRITE_ONLY) != 0) return CL_INVALID_ARG_VALUE;
  if (writes && (memory->flags() & CL_MEM_READ_ONLY) != 0) return CL_INVALID_ARG_VALUE;
  return CL_SUCCESS;
}

cl_int Kernel::find_sampler(std::size_t size, const void* value, Sampler*& sampler) const {
  if (size != sizeof(cl_sampler)) return CL_INVALID_ARG_SIZE;
  if (value == nullptr) return CL_INVALID_ARG_VALUE;
  HandleBase* const handle = HandleRegistry::find(value);
  if (handle == nullptr || handle->tag != HandleTag::kSampler) return CL_INVALID_SAMPLER;
  sampler = from_handle<Sampler>(handle_at<cl_sampler>(value));
  // "CL_INVALID_SAMPLER for an argument declared to be of type sampler_t when the specified arg_value is not a valid
  // sampler object."
  return &sampler->context() != &context() ? CL_INVALID_SAMPLER : CL_SUCCESS;
}

bool Kernel::arguments_complete() {
  const MutexLock lock(mutex_);
  return std::all_of(arguments_.begin(), arguments_.end(),
                     [](const Argument& argument) { return argument.set && !argument.memory.is_gone(); });
}

cl_ulong Kernel::local_argument_bytes() {
  const MutexLock lock(mutex_);
  cl_ulong bytes = 0;
  for (const Argument& argument : arguments_) {
    if (!argument.set || argument.kind != ArgumentKind::kLocal) continue;
    if (__builtin_add_overflow(bytes, argument.number, &bytes)) return ~cl_ulong{0};
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
  // Shared memory may contain pointers to itself, which need not be constant even if the argument is.
  if (argument.kind == ArgumentKind::kSvm || argument.memory->uses_svm()) return true;
  const ArgumentInfo& info = info_.arguments[index];
  // The server may know more than the application is told.
  if (info.address == 0) return true;
  if (argument.kind == ArgumentKind::kImage) return info.access != CL_KERNEL_ARG_ACCESS_READ_ONLY;
  return info.address != CL_KERNEL_ARG_ADDRESS_CONSTANT && (info.type_qualifier & CL_KERNEL_ARG_TYPE_CONST) == 0;
}

}  // namespace remotecl
