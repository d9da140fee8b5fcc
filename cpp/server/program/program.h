#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

// What a driver may not be given wrongly: it takes an argument for what the kernel declares.
struct ArgumentTraits {
  ArgumentKind kind = ArgumentKind::kOther;
  bool may_be_opaque = false;         // a value as far as the driver tells, but maybe an image or a sampler
  cl_mem_object_type image_type = 0;  // of the images that it takes; 0: any

  // Whether it may be set to something of that kind.
  bool takes(ArgumentKind given) const;
};
struct KernelTraits {
  std::vector<ArgumentTraits> arguments;
  std::uint64_t local_memory_size = 0;  // without its arguments
};
using ProgramTraits = std::map<std::string, KernelTraits>;  // by the names of kernels

class UnusedKernels;

enum class ProgramOrigin { kSource, kBinaries, kIl, kBuiltInKernels, kLink };

// A client's program: one native program for each device that it was built for. Owned by the session's table,
// by its kernels and by builds in progress. What native programs are made from belongs to the thread that
// builds, once the session has the program; the native programs need the session's lock.
class Program final : public RefCounted {
 public:
  // Throws HeldTooMuch.
  Program(ProgramOrigin origin, const Ref<SessionCounters>& counters);
  ~Program() override;

  // The source or IL, for all devices. Throws HeldTooMuch, as the next two do.
  void set_code(Bytes code);
  // The binary, or the names of built-in kernels, for one device.
  void set_code(const Device& device, Bytes code);
  // Asks the driver of `device` whether it takes the constant, and keeps it for all if so.
  cl_int specialize(Device& device, std::uint32_t constant, Bytes value);
  ProgramOrigin origin() const { return origin_; }
  // For all devices, and the specialization constants; on the thread that builds.
  const std::string& code() const { return code_; }
  const std::map<std::uint32_t, std::string>& constants() const { return constants_; }

  // A native program that is not built yet; the caller's. On the thread that builds.
  cl_int make(Device& device, cl_program& program) const;

  // Whether its kernels may print. `text`: more of what it is made of, a header or options. Any thread.
  bool prints() const { return prints_.load(std::memory_order_relaxed); }
  void look_for_prints(std::string_view text);
  void take_prints(const Program& part);
  // Only its compiler can tell whether they do.
  bool may_hide_prints() const { return !prints() && may_hide_prints_.load(std::memory_order_relaxed); }
  void note_prints() { prints_.store(true, std::memory_order_relaxed); }

  // The result of the last build, compilation or link, also of one that failed; or a program that is not built.
  // Takes the reference. `unused`: what is told of kernels that are used; may be null. Throws HeldTooMuch.
  void set_native(const Device& device, cl_program program, bool executable, ProgramTraits traits,
                  std::shared_ptr<UnusedKernels> unused = nullptr);
  // That program, still owned by this object; null when there was none.
  cl_program native(const Device& device) const;
  // The same, when kernels can be made of it.
  cl_program executable(const Device& device) const;
  // Of its kernel of that name; no arguments where there is none.
  KernelTraits kernel_traits(const Device& device, const std::string& kernel) const;
  // A native kernel of that name was made.
  void note_use(const Device& device, const std::string& kernel) const;

 private:
  struct Native {
    cl_program program = nullptr;
    bool executable = false;
    ProgramTraits traits;
    std::shared_ptr<UnusedKernels> unused;
  };

  void keep(std::string& code, Bytes bytes);
  cl_program make_native(cl_context context, const Device& device, cl_int& error) const;

  const ProgramOrigin origin_;
  HeldMemory held_;         // on the thread that builds
  HeldMemory held_native_;  // by native_; needs the session's lock
  std::string code_;
  std::map<const Device*, std::string> codes_;
  std::map<std::uint32_t, std::string> constants_;  // specialization constants
  std::map<const Device*, Native> native_;
  std::atomic<bool> prints_{false};
  std::atomic<bool> may_hide_prints_{false};
};

}  // namespace remotecl::server
