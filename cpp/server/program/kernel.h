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

namespace remotecl::server {

// What the client set an argument to. Names objects by id and keeps none alive, as OpenCL has it.
class StoredArgument {
 public:
  void set(const KernelArgument& argument);

  bool is_set() const { return is_set_; }
  ArgumentKind kind() const { return kind_; }
  std::uint64_t number() const { return number_; }
  // Memory beside this object.
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

// The shared virtual memory that a kernel may touch besides its arguments, and what keeps it.
struct SvmPointers {
  explicit SvmPointers(HeldMemory memory) : held(std::move(memory)) {}

  const HeldMemory held;
  std::vector<void*> pointers;
  std::vector<Ref<Buffer>> buffers;  // one for each
};

// A kernel on one device. Needs the session's lock.
struct DeviceKernel {
  // A native kernel with so many arguments. Throws HeldTooMuch.
  DeviceKernel(const Ref<SessionCounters>& counters, std::size_t count)
      : arguments(count), held(counters, kNativeSize + count * kArgumentSize, HeldMemory::For::kCommand) {}
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;
  ~DeviceKernel() {
    if (native != nullptr) clReleaseKernel(native);
  }

  static constexpr std::uint64_t kNativeSize = 4096, kArgumentSize = 256;  // about

  cl_kernel native = nullptr;
  KernelTraits traits;                     // as the client was told
  std::vector<StoredArgument> arguments;   // as of the last command that was received
  bool stale = false;                      // the native kernel has other ones
  std::uint64_t checked_at = 0;            // Session's count of released objects when they all existed
  std::shared_ptr<const SvmPointers> svm;  // as the native kernel has them
  HeldMemory held;

  // Stores what the client gives. Throws HeldTooMuch.
  void set(const KernelArgument& argument);
  bool takes(std::uint32_t index, ArgumentKind kind) const {
    return index < traits.arguments.size() && traits.arguments[index].takes(kind);
  }
  // Whether its local memory and that of its arguments fit into the device's: PoCL ends the process where they do not.
  bool fits(const Device& device) const;
  cl_int use_svm(const std::shared_ptr<const SvmPointers>& list, Device& device);
};

// All arguments of one command that waits, with the objects that it will use.
struct ArgumentSnapshot {
  // Throws HeldTooMuch.
  ArgumentSnapshot(const Ref<SessionCounters>& counters, const std::vector<StoredArgument>& stored);

  const HeldMemory held;
  std::vector<StoredArgument> arguments;
  // One for each argument; null where it is none.
  std::vector<Ref<Memory>> memory;
  std::vector<Ref<Sampler>> samplers;
  std::shared_ptr<const SvmPointers> svm;

  cl_int apply(cl_kernel kernel, Device& device);
};

// A client's kernel: a native one for each device, made when that device first runs it. Owned by the
// session's table and by commands in flight. Needs the session's lock.
class Kernel final : public RefCounted {
 public:
  // Throws HeldTooMuch.
  Kernel(Ref<Program> program, std::string_view name, const Ref<SessionCounters>& counters)
      : held_(counters, sizeof(Kernel) + name.size()), counters_(counters), program_(std::move(program)), name_(name) {}

  // Throws HeldTooMuch, as make() does.
  cl_int on(Device& device, DeviceKernel*& kernel);
  // One more native kernel, without arguments, for the caller alone to use.
  cl_int make(Device& device, std::unique_ptr<DeviceKernel>& kernel) const;
  void set_svm(std::shared_ptr<const SvmPointers> list) { svm_ = std::move(list); }
  const std::shared_ptr<const SvmPointers>& svm() const { return svm_; }
  bool prints() const { return program_->prints(); }

 private:
  const HeldMemory held_;
  const Ref<SessionCounters> counters_;
  const Ref<Program> program_;
  const std::string name_;
  std::map<const Device*, std::unique_ptr<DeviceKernel>> native_;
  std::shared_ptr<const SvmPointers> svm_;
};

}  // namespace remotecl::server
