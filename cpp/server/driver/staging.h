#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/sizes.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "server/completion/native.h"
#include "server/driver/device.h"
#include "server/driver/pinned_block.h"

namespace remotecl::server {

// Pinned host memory through which bulk data passes in pieces, so that network and device copies overlap. It
// has a fixed number of slots, used in turn. Owned by one thread.
class StagingRing {
 public:
  static constexpr std::size_t kSlots = kStagingSlots;
  // The size of the pieces of a transfer of `size` bytes over this many streams. Small transfers use smaller
  // pieces, so that network and device copies overlap there too, but each stream's part must be worth waking
  // its thread.
  std::size_t piece_size(std::uint64_t size, std::size_t streams) const {
    return size < kSlots * kStagingSlot ? std::min(slot_size_, streams * kStagingSmallPiece) : slot_size_;
  }
  std::size_t slot_size() const { return slot_size_; }

  struct Slot {
    std::byte* data = nullptr;
    Native<cl_event> busy;             // the native command that uses the slot
    std::uint64_t borrowed_until = 0;  // counted like BulkTransport::bytes_sent()
  };

  // `transport`: moves the ring's bytes, in pieces whose size it chooses, and outlives the ring; null: none.
  explicit StagingRing(Device& device, BulkTransport* transport = nullptr,
                       std::size_t slot_max = std::numeric_limits<std::size_t>::max());
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  // For reads into the slots.
  cl_command_queue queue() const { return block_.queue(); }
  // Waits for the command that used the next slot, and returns the slot. An error of that command goes to
  // `error`.
  Slot& next(cl_int& error);
  // The first bytes of a slot, for the transport.
  BulkDestination memory(const Slot& slot, std::size_t size) const { return {{slot.data, size}, registration_.get()}; }

 private:
  const std::size_t slot_size_;
  PinnedBlock block_;
  std::unique_ptr<std::byte[]> pageable_;  // in place of block_
  std::unique_ptr<MemoryRegistration> registration_;
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

// Staging rings for threads that need one for a while. It keeps as many for each device as were ever needed
// at once. Owned by the session; any thread.
class StagingPool {
 public:
  std::unique_ptr<StagingRing> take(Device& device) EXCLUDES(mutex_);
  void give_back(Device& device, std::unique_ptr<StagingRing> ring) EXCLUDES(mutex_);
  // The client has released the device: frees its rings, and those in use when they come back.
  void drop(Device& device) EXCLUDES(mutex_);
  // Called before the devices are destroyed.
  void clear() EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::map<Device*, std::vector<std::unique_ptr<StagingRing>>> free_ GUARDED_BY(mutex_);
  std::set<const Device*> dropped_ GUARDED_BY(mutex_);
};

// One ring for each device that needs one. Owned by one thread, which moves bytes over one transport.
class StagingSet {
 public:
  explicit StagingSet(BulkTransport& transport, std::size_t slot_max = std::numeric_limits<std::size_t>::max())
      : transport_(transport), slot_max_(slot_max) {}
  StagingRing& ring(Device& device);

 private:
  BulkTransport& transport_;
  const std::size_t slot_max_;
  std::map<Device*, std::unique_ptr<StagingRing>> rings_;
};

}  // namespace remotecl::server
