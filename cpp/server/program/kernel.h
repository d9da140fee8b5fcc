#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "server/completion/cl.h"
#include "server/memory/buffer.h"
#include "server/memory/memory.h"
#include "server/memory/sampler.h"
#include "server/program/program.h"
#include "server/quota/held_memory.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// An argument as the client has set it. Names objects by id and keeps none alive, as OpenCL requires.
class StoredArgument {
 public:
  void set(const KernelArgument& argument);

  bool is_set() const { return is_set_; }
  ArgumentKind kind() const { return kind_; }
  std::uint64_t number() const { return number_; }
  // The memory used besides this object.
  std::size_t large_size() const { return large_.capacity(); }
  bool fits(std::size_t size) const { return size <= small_.size() || size <= large_.capacity(); }
  Bytes value() const { return {size_ <= small_.size() ? small_.data() : large_.data(), size_}; }

 private:
  bool is_set_ = false;
  ArgumentKind kind_ = ArgumentKind::kValue;
  std::uint64_t number_ = 0;
  std::size_t size_ = 0;
  std::array<std::byte, 16> small_;
  std::vector<std::byte> large_;
};

// The shared virtual memory that a kernel may access besides its arguments, and the buffers that keep it.
struct SvmPointers {
  explicit SvmPointers(HeldMemory memory) : held(std::move(memory)) {}

  const HeldMemory held;
  std::vector<void*> pointers;
  std::vector<Ref<Buffer>> buffers;  // one for each pointer
};

// A kernel on one device.
struct DeviceKernel {
  // For a native kernel with `count` arguments. Throws HeldTooMuch.
  DeviceKernel(const Ref<SessionCounters>& counters, std::size_t count)
      : arguments(count), held(counters, kNativeSize + count * kArgumentSize, HeldMemory::For::kCommand) {}
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;
  ~DeviceKernel() {
    if (native != nullptr) clReleaseKernel(native);
  }

  static constexpr std::uint64_t kNativeSize = 4096, kArgumentSize = 256;  // estimated

  cl_kernel native GUARDED_BY(session_lock) = nullptr;
  KernelTraits traits;                                             // as reported to the client
  std::vector<StoredArgument> arguments GUARDED_BY(session_lock);  // as of the last command received
  bool stale GUARDED_BY(session_lock) = false;                     // the native kernel has other arguments
  // The session's count of released objects when all of the arguments existed.
  std::uint64_t checked_at GUARDED_BY(session_lock) = 0;
  std::shared_ptr<const SvmPointers> svm GUARDED_BY(session_lock);  // as set on the native kernel
  HeldMemory held GUARDED_BY(session_lock);

  // Stores the client's argument. Throws HeldTooMuch.
  void set(const KernelArgument& argument) REQUIRES(session_lock);
  bool takes(std::uint32_t index, ArgumentKind kind) const {
    return index < traits.arguments.size() && traits.arguments[index].takes(kind);
  }
  // Returns true if its local memory, with that of its arguments, fits into the device's. PoCL ends the
  // process if it does not.
  bool fits(const Device& device) const REQUIRES(session_lock);
  cl_int use_svm(const std::shared_ptr<const SvmPointers>& list, Device& device) REQUIRES(session_lock);
};

// All arguments of one waiting command, with the objects that it will use.
struct ArgumentSnapshot {
  // Throws HeldTooMuch.
  ArgumentSnapshot(const Ref<SessionCounters>& counters, const std::vector<StoredArgument>& stored);

  const HeldMemory held;
  std::vector<StoredArgument> arguments;
  // One for each argument; null if the argument is of another kind.
  std::vector<Ref<Memory>> memory;
  std::vector<Ref<Sampler>> samplers;
  std::shared_ptr<const SvmPointers> svm;

  cl_int apply(cl_kernel kernel, Device& device) REQUIRES(session_lock);
};

// A client's kernel: one native kernel for each device, made when that device first runs it. Owned by the
// session's table and by commands in flight.
class Kernel final : public RefCounted {
 public:
  // Throws HeldTooMuch.
  Kernel(Ref<Program> program, std::string_view name, const Ref<SessionCounters>& counters)
      : held_(counters, sizeof(Kernel) + name.size()), counters_(counters), program_(std::move(program)), name_(name) {}

  // Throws HeldTooMuch, like make().
  cl_int on(Device& device, DeviceKernel*& kernel) REQUIRES(session_lock);
  // Makes one more native kernel, without arguments, for the caller's exclusive use.
  cl_int make(Device& device, std::unique_ptr<DeviceKernel>& kernel) const REQUIRES(session_lock);
  void set_svm(std::shared_ptr<const SvmPointers> list) REQUIRES(session_lock) { svm_ = std::move(list); }
  const std::shared_ptr<const SvmPointers>& svm() const REQUIRES(session_lock) { return svm_; }
  bool prints() const { return program_->prints(); }

 private:
  const HeldMemory held_;
  const Ref<SessionCounters> counters_;
  const Ref<Program> program_;
  const std::string name_;
  std::map<const Device*, std::unique_ptr<DeviceKernel>> native_ GUARDED_BY(session_lock);
  std::shared_ptr<const SvmPointers> svm_ GUARDED_BY(session_lock);
};

}  // namespace remotecl::server
