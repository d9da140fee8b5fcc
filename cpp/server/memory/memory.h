#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/quota/session_counters.h"

namespace remotecl::server {

// Flags about host memory and host access are the client's business: it reads and writes through us in any
// case.
inline constexpr std::uint64_t kDeviceFlags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

// What a client's buffer and image have in common. Memory of a device is made when the device first needs it, so
// running out of it is the error of the command that needed it. Owned by the session's tables, by what is made of
// it and by commands in flight. native() needs the session's lock.
class Memory : public RefCounted {
 public:
  // `counters`: where memory of its own is counted; null where it has none.
  Memory(Ref<Memory> parent, Ref<SessionCounters> counters)
      : parent_(std::move(parent)), counters_(std::move(counters)) {}
  ~Memory() override;

  // The memory on `device`, still owned by this object.
  cl_int native(Device& device, cl_mem& memory);
  // Where it lies in this process, if kernels of the device use it there; null: only the driver knows.
  std::byte* host_memory(Device& device);

 protected:
  struct Native {
    Device* device = nullptr;
    cl_mem memory = nullptr;
    std::byte* host_memory = nullptr;
    std::uint64_t reserved = 0;  // what it has taken of the device's memory, also when it fails
  };

  virtual cl_int make(Device& device, Native& native) = 0;
  // For make(): takes so much of the device's memory, and of what the session may have of it; false when that is not
  // there.
  bool reserve(Device& device, std::uint64_t size, Native& native);
  Memory* parent() const { return parent_.get(); }  // that this is a part or a view of; null: none

 private:
  void give_back(const Native& native);

  const Ref<Memory> parent_;
  // Null where there is none yet.
  const Native* find(const Device& device) const;

  const Ref<SessionCounters> counters_;
  std::vector<Native> native_;  // of few devices; an index may be given to another one, a device is the same for good
};

}  // namespace remotecl::server
