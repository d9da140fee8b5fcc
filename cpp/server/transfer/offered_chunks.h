#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "runtime/protocol/sizes.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "server/driver/staging.h"
#include "server/quota/held_memory.h"
#include "server/transfer/upload_store.h"

namespace remotecl::server {

class IncomingTransfer;

// The chunks of one transfer that its client has offered and whose bytes have not come. Takes from the store those that
// it has, and stores the others once they have come. Owned by the transfer.
class OfferedChunks {
 public:
  // Throws HeldTooMuch.
  OfferedChunks(UploadStore& store, std::string owner, const Ref<SessionCounters>& counters)
      : store_(store),
        owner_(std::move(owner)),
        held_(counters, sizeof(OfferedChunks) + std::size_t{2} * kPendingChunksMax * kEach) {}

  // The client offers chunks from `offset` on, of a transfer of `size` bytes. Calls `begin`, which looks for them: now
  // or, on the receiving thread, once enough of the chunks offered before have come. Called on the session's thread.
  // Throws ProtocolError.
  void announce(std::uint64_t offset, std::size_t count, std::uint64_t size, std::function<void()> begin)
      EXCLUDES(mutex_);
  // This many chunks have been looked for. Call it before the client gets the answer. Any thread.
  void answered(std::size_t count) EXCLUDES(mutex_);
  // Looks for the chunk at `offset`. Returns true if its bytes need not come. Any thread.
  bool look_up(std::uint64_t offset, const Digest& digest, std::uint64_t size) EXCLUDES(mutex_);
  bool is_kept() const { return store_.keeps(); }

  // On the thread that receives the transfer's bytes:
  // Receives its next bytes, at most `size_max` and not beyond a chunk. Returns their number, 0 at the end.
  std::uint32_t receive(BulkInput& input, IncomingTransfer& transfer, std::uint32_t size_max, StagingSet& staging)
      EXCLUDES(mutex_);
  // The same for a whole chunk that was found. Throws ProtocolError if the next one was not.
  void receive_stored(IncomingTransfer& transfer, StagingSet& staging) EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kEach = 128;  // estimated, of pending_

  struct Waiting {
    std::size_t count;
    std::function<void()> begin;
  };

  void add(std::uint64_t offset, std::size_t count, std::uint64_t size) REQUIRES(mutex_);
  // Returns the look-up that may begin now; null if there is none.
  std::function<void()> next_look_up() REQUIRES(mutex_);

  UploadStore& store_;
  const std::string owner_;
  const HeldMemory held_;
  std::unique_ptr<UploadStore::NewChunk> incoming_;  // the one that is being received

  Mutex mutex_;
  std::uint64_t announced_ GUARDED_BY(mutex_) = 0;    // the end of the last one
  std::size_t unanswered_ GUARDED_BY(mutex_) = 0;     // chunks
  std::size_t waiting_count_ GUARDED_BY(mutex_) = 0;  // chunks
  std::deque<Waiting> waiting_ GUARDED_BY(mutex_);
  // By their offsets. Null: it was not found, or not yet.
  std::map<std::uint64_t, std::unique_ptr<UploadStore::FoundChunk>> pending_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
