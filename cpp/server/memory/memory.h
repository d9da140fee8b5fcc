#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/memory/svm_memory.h"
#include "server/quota/session_counters.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The device-side flags. Those about host memory and host access concern only the client, which reads and
// writes through us in any case.
inline constexpr std::uint64_t kDeviceFlags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

// The common part of buffers and images. Device memory is allocated when the device first needs it, so
// running out of memory is an error of the command that needed it. Owned by the session's tables, by objects
// made from it and by pending commands.
class Memory : public RefCounted {
 public:
  // `counters`: counts its memory; null if it has no memory of its own. `svm`: the shared virtual memory that contains
  // it, or null.
  Memory(Ref<Memory> parent, Ref<SessionCounters> counters, Ref<SvmMemory> svm = nullptr)
      : parent_(std::move(parent)), svm_(std::move(svm)), counters_(std::move(counters)) {}
  ~Memory() override;

  // The memory object on `device`, still owned by this object.
  cl_int native(Device& device, cl_mem& memory) REQUIRES(session_lock);
  // Where the bytes are in this process, if kernels of the device use them there; null if only the driver
  // knows.
  std::byte* host_memory(Device& device) REQUIRES(session_lock);

 protected:
  struct Native {
    Device* device = nullptr;
    cl_mem memory = nullptr;
    std::byte* host_memory = nullptr;
    std::uint64_t reserved = 0;  // of the device's memory, even if creation failed
  };

  virtual cl_int make(Device& device, Native& native) REQUIRES(session_lock) = 0;
  // For make(): reserves device memory and the session's share of it; returns false if there is too little of
  // either.
  bool reserve(Device& device, std::uint64_t size, Native& native);
  Memory* parent() const { return parent_.get(); }  // the object that this is a part or a view of, or null
  const Ref<SvmMemory>& shared_svm() const { return svm_; }

 private:
  static void give_back(const Native& native, const Ref<SessionCounters>& counters);
  // Null if there is none yet.
  const Native* find(const Device& device) const REQUIRES(session_lock);

  const Ref<Memory> parent_;
  const Ref<SvmMemory> svm_;  // here, because the destructor releases the driver's objects over it
  const Ref<SessionCounters> counters_;
  std::vector<Native> native_ GUARDED_BY(session_lock);  // few devices; keyed by device because an index may be reused
};

}  // namespace remotecl::server
