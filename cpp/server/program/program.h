#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/ref_counted.h"
#include "runtime/crypto/digest.h"
#include "runtime/protocol/messages.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/quota/held_memory.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The kind of an argument. A driver treats an argument as the kind that the kernel declares, so it must be right.
struct ArgumentTraits {
  ArgumentKind kind = ArgumentKind::kOther;
  bool may_be_opaque = false;         // a value according to the driver, but possibly an image or a sampler
  cl_mem_object_type image_type = 0;  // of the images that it accepts; 0: any

  // Returns true if it may be set to an argument of that kind.
  bool takes(ArgumentKind given) const;
};
struct KernelTraits {
  std::vector<ArgumentTraits> arguments;
  std::uint64_t local_memory_size = 0;  // without its arguments
};
using ProgramTraits = std::map<std::string, KernelTraits>;  // by the names of kernels

class UnusedKernels;

// A native program that others may be linked from.
struct NativePart {
  Digest key{};  // of everything that it depends on
  // The binary of a program from the store, else empty: PoCL has no binary of a program that is loaded but not built.
  std::vector<std::byte> binary;
};

enum class ProgramOrigin { kSource, kBinaries, kIl, kBuiltInKernels, kLink };

// A client's program: one native program for each device that it was built for. Owned by the session's table,
// by its kernels and by builds in progress. What native programs are made of belongs to the session's thread while it
// makes the program, then to the building thread and those that it waits for.
class Program final : public RefCounted {
 public:
  // Throws HeldTooMuch.
  Program(ProgramOrigin origin, const Ref<SessionCounters>& counters);
  ~Program() override;

  // Sets the source or IL, for all devices. Throws HeldTooMuch, like the next two functions.
  void set_code(Bytes code);
  // Sets the binary or recipe, or the names of built-in kernels, for one device.
  void set_code(const Device& device, Bytes code);
  // Asks the driver of `device` whether it accepts the constant, and if so keeps it for all devices.
  cl_int specialize(Device& device, std::uint32_t constant, Bytes value);
  // Likewise, but without asking.
  void set_constant(std::uint32_t constant, Bytes value) { keep(constants_[constant], value); }
  ProgramOrigin origin() const { return origin_; }
  // The code for all devices, and the specialization constants. Used by the building thread.
  const std::string& code() const { return code_; }
  // The binary, or the names of built-in kernels, for one device; empty if there is none. Likewise.
  Bytes code(const Device& device) const;
  const std::map<std::uint32_t, std::string>& constants() const { return constants_; }

  // Makes a native program, not built yet, for the caller. Called by the building thread; for sources, by any thread.
  // `source`: in place of the program's own; nullopt: that one.
  cl_int make(Device& device, cl_program& program, const std::optional<std::string>& source = std::nullopt) const;

  // Returns true if its kernels may print. `text`: further parts of the program, such as a header or options.
  // Any thread.
  bool prints() const { return prints_.load(std::memory_order_relaxed); }
  void look_for_prints(std::string_view text);
  void take_prints(const Program& part);
  // Returns true if only its compiler can determine whether they do.
  bool may_print() const { return !prints() && may_print_.load(std::memory_order_relaxed); }
  void note_prints() { prints_.store(true, std::memory_order_relaxed); }

  // Sets the result of the last build, compilation or link, even of a failed one, or a program that is not built. Takes
  // over the reference. `unused`: gets the kernels that are used; may be null. Throws HeldTooMuch.
  void set_native(const Device& device, cl_program program, bool executable, ProgramTraits traits,
                  std::shared_ptr<UnusedKernels> unused = nullptr, std::optional<NativePart> part = std::nullopt)
      REQUIRES(session_lock);
  // The native program, still owned by this object; null if there is none.
  cl_program native(const Device& device) const REQUIRES(session_lock);
  // The native program as a part that others may be linked from; null: it is none.
  const NativePart* part(const Device& device) const REQUIRES(session_lock);
  // The native program if kernels can be made of it, else null.
  cl_program executable(const Device& device) const REQUIRES(session_lock);
  // The traits of the kernel with that name. No arguments if there is none.
  KernelTraits kernel_traits(const Device& device, const std::string& kernel) const REQUIRES(session_lock);
  // A native kernel with that name was made.
  void note_use(const Device& device, const std::string& kernel) const REQUIRES(session_lock);

 private:
  struct Native {
    cl_program program = nullptr;
    bool executable = false;
    ProgramTraits traits;
    std::shared_ptr<UnusedKernels> unused;
    std::optional<NativePart> part;
  };

  void keep(std::string& code, Bytes bytes);
  cl_program make_native(cl_context context, const Device& device, const std::string& code, cl_int& error) const;

  const ProgramOrigin origin_;
  HeldMemory held_;                                  // used by the building thread
  HeldMemory held_native_ GUARDED_BY(session_lock);  // for native_
  std::string code_;
  std::map<const Device*, std::string> codes_;
  std::map<std::uint32_t, std::string> constants_;  // specialization constants
  std::map<const Device*, Native> native_ GUARDED_BY(session_lock);
  std::atomic<bool> prints_{false};
  std::atomic<bool> may_print_{false};
};

// A program that another one may include, its name there, and what is compiled in place of its own source, if anything.
struct IncludedSource {
  Ref<Program> program;
  std::string name;
  std::optional<std::string> source{};
};

}  // namespace remotecl::server
