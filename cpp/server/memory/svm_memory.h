#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/quota/session_counters.h"

namespace remotecl::server {

// The request of AllocateSvm.
struct SvmRequest {
  std::vector<Device*> devices;
  std::uint64_t flags;
  std::uint64_t size;
  std::uint64_t alignment;
  std::uint64_t address;
};

// Memory reserved on each of its devices, and counted against the session's limit there. The destructor gives it back.
class SvmReservation {
 public:
  explicit SvmReservation(const Ref<SessionCounters>& counters) : counters_(counters) {}
  ~SvmReservation();
  SvmReservation(SvmReservation&& other) noexcept = default;
  // Returns false if there is not enough.
  bool add(Device& device, std::uint64_t size);

 private:
  const Ref<SessionCounters> counters_;
  std::vector<std::pair<Device*, std::uint64_t>> taken_;
};

// Memory of this process whose address means the same to the kernels of its devices and to the client.
// Constant; owned by the buffers over it.
class SvmMemory final : public RefCounted {
 public:
  // Allocates where the client proposes if the devices can use any address; otherwise where the driver of the
  // only device puts it.
  static cl_int allocate(const SvmRequest& request, const Ref<SessionCounters>& counters, Ref<SvmMemory>& memory);
  ~SvmMemory() override;

  std::byte* data() const { return data_; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(data_); }
  // Includes the end: a pointer just behind the last element may be an argument too.
  bool contains(std::uint64_t address) const {
    return address >= this->address() && address - this->address() <= size_;
  }
  bool usable_on(const Device& device) const;

 private:
  SvmMemory(std::vector<Device*> devices, SvmReservation reservation, std::byte* data, std::uint64_t size,
            cl_context context, void* allocation)
      : devices_(std::move(devices)),
        reservation_(std::move(reservation)),
        data_(data),
        size_(size),
        context_(context),
        allocation_(allocation) {}

  const std::vector<Device*> devices_;
  const SvmReservation reservation_;
  std::byte* const data_;
  const std::uint64_t size_;
  const cl_context context_;  // of the driver that chose the address; null if the pages are ours
  void* const allocation_;    // what that driver returned; contains data_
};

}  // namespace remotecl::server
