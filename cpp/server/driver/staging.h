#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/driver/pinned_block.h"

namespace remotecl::server {

// Pinned host memory through which bulk data passes, in pieces, so that network and device copy overlap. A
// fixed number of slots, used in turn. Owned by one thread.
class StagingRing {
 public:
  static constexpr std::size_t kSlotSize = 2u << 20;
  static constexpr std::size_t kSlots = 4;
  // In which a transfer of `size` bytes over so many streams moves: small ones in smaller pieces, so that network and
  // device overlap there, too, but not so small that a stream's part is not worth its waking.
  static constexpr std::size_t piece_size(std::uint64_t size, std::size_t streams) {
    return size < kSlots * kSlotSize ? std::min(kSlotSize, streams * kSmallPiece) : kSlotSize;
  }

  struct Slot {
    std::byte* data = nullptr;
    cl_event busy = nullptr;       // owned; the native command that uses the slot
    std::uint64_t lent_until = 0;  // a position of the connection that the ring's owner sends on
  };

  explicit StagingRing(Device& device);
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  // For reads into the slots.
  cl_command_queue queue() const { return block_.queue(); }
  // The next slot, after the command that used it last. An error of that command goes to `error`.
  Slot& next(cl_int& error);

 private:
  static constexpr std::size_t kSmallPiece = 256u << 10;

  PinnedBlock block_;
  std::unique_ptr<std::byte[]> pageable_;  // in its place
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

// Rings for threads that need one for a while: of each device as many as were needed at a time. Owned by the session;
// any thread.
class StagingPool {
 public:
  std::unique_ptr<StagingRing> take(Device& device) EXCLUDES(mutex_);
  void give_back(Device& device, std::unique_ptr<StagingRing> ring) EXCLUDES(mutex_);
  // The client has released the device: its rings go, those in use when they are given back.
  void drop(Device& device) EXCLUDES(mutex_);
  // Before the devices go.
  void clear() EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::map<Device*, std::vector<std::unique_ptr<StagingRing>>> free_ GUARDED_BY(mutex_);
  std::set<const Device*> dropped_ GUARDED_BY(mutex_);
};

// One ring for each device that needs one. Owned by one thread.
class StagingSet {
 public:
  StagingRing& ring(Device& device);

 private:
  std::map<Device*, std::unique_ptr<StagingRing>> rings_;
};

}  // namespace remotecl::server
