#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/client/objects/event.h"
#include "runtime/client/objects/event_doubt.h"
#include "runtime/client/objects/host_readers.h"
#include "runtime/client/objects/mappings.h"
#include "runtime/client/objects/memory_mutex.h"
#include "runtime/client/objects/unended_events.h"
#include "runtime/memory/range_map.h"
#include "runtime/memory/residency_directory.h"

namespace remotecl {

class CoherentHostMemory;
class MemoryObject;

// A transfer in progress to a location, and who held the bytes before the location was counted as a holder.
struct InboundTransfer {
  Ref<Event> event;
  ByteRange range;
  LocationSet holders_before;
  Ref<FormerContent> former{};     // of these bytes: see ResidencyDirectory
  bool is_prompt;                  // waits for nothing but the bytes
  bool is_large = false;           // more bytes move than a message takes
  unsigned hops = 1;               // how many transfers the bytes pass in a row to get there
  TransferId transfer = 0;         // of a large one, whose bytes the server may forward while they arrive; else 0
  std::uint64_t writes = 0;        // BufferStorage::writes at its start; unchanged as long as the bytes are
  Ref<CommandQueue> awaited_by{};  // has a command that waits for it; null: no such command was sent
  bool may_fail_alone = false;     // because a server that the bytes come from gets lost, but not this one
};

// A copy that has only the content that the buffer had when it, or the copy that it comes from, was made.
struct LimitedCopy {
  ByteRange range;
  ObjectId size;              // the content-size buffer
  std::uint64_t size_writes;  // its BufferStorage::writes
};

// The transfers and commands in progress at one location of a buffer.
struct Site {
  // Commands of a queue, by their positions in it.
  struct Commands {
    std::uint64_t last = 0;   // 0: none
    std::uint64_t other = 0;  // of an out-of-order queue: all between it and the last one are known to have ended

    void add(Commands more, const CommandQueue& queue) {
      const std::uint64_t earlier = std::min(last, more.last);
      last = std::max(last, more.last);
      other = std::max(other, more.other);
      if (queue.in_order() || earlier == last || queue.has_ended(earlier)) return;
      other = std::max(other, earlier);
    }
    bool have_ended(const CommandQueue& queue) const { return queue.has_ended(last) && last_ends_last(queue); }
    // When the last one has ended, so have all others.
    bool last_ends_last(const CommandQueue& queue) const { return queue.in_order() || queue.ended_sequence() >= other; }
  };
  struct User {
    Ref<CommandQueue> queue;
    ByteRange range;
    Commands uses, writes;
  };

  // Moves queues that are not needed any more to `unneeded`, to be released without a lock: this may be the last
  // reference to one.
  void used_by(CommandQueue& queue, std::uint64_t sequence, ByteRange range, bool writes,
               std::vector<Ref<CommandQueue>>& unneeded) {
    for (User& user : users) {
      if (user.queue.get() != &queue || user.range != range) continue;
      user.uses.add({sequence}, queue);
      if (writes) user.writes.add({sequence}, queue);
      return;
    }
    add_user(queue, sequence, range, writes, unneeded);
  }
  // How often the location has sent bytes to other servers since the buffer was written for the last time, which
  // was write number `writes`.
  unsigned served(std::uint64_t writes) const { return served_at_ == writes ? served_ : 0; }
  void serves(std::uint64_t writes) {
    served_ = served(writes) + 1;
    served_at_ = writes;
  }
  // A command that runs after these transfers have ended, in whatever way, writes these bytes: removes them
  // from the transfers' ranges, because they do not come from there.
  template <class Condition>
  void take_from_arrivals(ByteRange written, const Condition& condition) {
    arrivals.take(written, condition, [this](InboundTransfer&& one) { outdated.add(std::move(one.event)); });
  }

  RangeMap<InboundTransfer> arrivals;
  UnendedEvents outdated;                // of transfers with nothing left to bring
  std::vector<User> users;               // queues whose commands have used bytes there; some have one for each range
  RangeMap<LimitedCopy> limited_copies;  // never the host's. The last writer of a byte has none of it
  std::size_t sweep_at = kSweepMin;      // when so many transfers arrive, all are settled
  static constexpr std::size_t kSweepMin = 32;

 private:
  static constexpr std::size_t kRangesMax = 8;  // of a queue; more count as one

  void add_user(CommandQueue& queue, std::uint64_t sequence, ByteRange range, bool writes,
                std::vector<Ref<CommandQueue>>& unneeded);

  unsigned served_ = 0;
  std::uint64_t served_at_ = 0;
};

// The bytes behind a buffer and its sub-buffers: who holds which of them, the host's copy, and the events
// that must end before a holder's bytes may be read.
struct BufferStorage {
  BufferStorage(std::uint64_t size, void* application_memory);
  ~BufferStorage();

  // The host's copy: the application's own memory (CL_MEM_USE_HOST_PTR), or pages that occupy nothing until
  // touched.
  std::byte* host() REQUIRES(kMemoryMutex);
  Site& site(Location location) REQUIRES(kMemoryMutex);
  // A transfer begins, after those in progress to these bytes there, which it makes outdated.
  void arriving(InboundTransfer arrival, Location at) REQUIRES(kMemoryMutex);
  // Removes transfers of these bytes that have ended. The bytes of a failed one are where they were before: every
  // command that relied on it has failed too.
  void settle_arrivals(ByteRange range) REQUIRES(kMemoryMutex);
  // A location has written the bytes, or gets them from another one. Limited copies do not make the host a holder.
  void written(ByteRange range, Location at) REQUIRES(kMemoryMutex);
  // A command of `queue` writes them. `has_read`: it has also named them as read, so that it fails with what brings
  // them or has written them there. `doubt`: perhaps it does not take place; null: the bytes are right even then.
  void written(ByteRange range, const CommandQueue& queue, bool has_read, const Ref<EventDoubt>& doubt)
      REQUIRES(kMemoryMutex);
  // Whether the location has the right bytes even if a command that overwrites them there does not begin.
  bool is_certain(ByteRange range, Location at) REQUIRES(kMemoryMutex);
  // Takes back what commands were to write that have not begun.
  void settle_doubts(ByteRange range) REQUIRES(kMemoryMutex);
  void copied(ByteRange range, Location from, Location to) REQUIRES(kMemoryMutex);
  // What a location holds of these bytes is a limited copy.
  void limited(const LimitedCopy& copy, Location at) REQUIRES(kMemoryMutex);
  bool has_limited_copies() const REQUIRES(kMemoryMutex) { return has_limited_copies_; }  // or has had
  // Drops the limited copies of these bytes that are outdated(copy).
  template <class Outdated>
  void settle_limited_copies(ByteRange range, const Outdated& outdated) REQUIRES(kMemoryMutex) {
    for (Location at = 0; at < sites_.size(); ++at) {
      sites_[at].limited_copies.erase_if(range, [&](const LimitedCopy& copy) {
        kMemoryMutex.assume_held();
        if (!outdated(copy)) return false;
        residency.drop_copy(copy.range, at);
        return true;
      });
    }
  }
  // `writes`; none if what is there of these bytes is a limited copy.
  std::optional<std::uint64_t> writes_if_whole(ByteRange range, Location at) const REQUIRES(kMemoryMutex);
  // Whether any of these bytes is mapped.
  bool is_mapped(ByteRange range) REQUIRES(kMemoryMutex);

  ResidencyDirectory residency GUARDED_BY(kMemoryMutex);
  std::uint64_t writes GUARDED_BY(kMemoryMutex) = 0;  // how many commands have written
  HostReaders host_readers GUARDED_BY(kMemoryMutex);
  Mappings mappings GUARDED_BY(kMemoryMutex);  // of all objects that have this storage
  // Set before anybody else knows the buffer.
  std::shared_ptr<void> application_memory_owner;         // of memory that the runtime gave to the application
  std::shared_ptr<CoherentHostMemory> coherent;           // null: the application maps what it touches
  void (*end_coherence)(MemoryObject& buffer) = nullptr;  // called when the buffer that has it is destroyed
  std::function<void()> at_end;                           // the application's, to be called when no transfer is left

 private:
  // The locations that may not have the bytes yet, or not all of them. What is only there is put in doubt.
  LocationSet uncertain_holders(ByteRange range) REQUIRES(kMemoryMutex);
  // One of the limited copies of some of these bytes there, or null.
  const LimitedCopy* limited_at(Location at, ByteRange range) const REQUIRES(kMemoryMutex);
  void count_write(ByteRange range) REQUIRES(kMemoryMutex);
  // The bytes there have been replaced.
  void take_from_limited(ByteRange range, Location at) REQUIRES(kMemoryMutex);
  void settle_arrivals_at(Location at, ByteRange range) REQUIRES(kMemoryMutex);

  const std::uint64_t size_;
  std::byte* host_ GUARDED_BY(kMemoryMutex) = nullptr;
  const bool owns_host_;
  bool has_limited_copies_ GUARDED_BY(kMemoryMutex) = false;
  std::vector<Site> sites_ GUARDED_BY(kMemoryMutex);  // by location
};

}  // namespace remotecl
