#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/client/upload/upload_link.h"
#include "runtime/crypto/digest.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// The steps of a write whose chunks the server may have already. Its bytes are sent as they are until the link is known
// to be slow. From then on the digests of chunks are offered some chunks ahead of the bytes, and chunks that the server
// has found are not sent. Replies are awaited only while the server finds something. One thread at a time sends;
// another one delivers the replies.
class UploadOffer {
 public:
  enum class Action {
    kOffer,  // send the digests of chunks
    kSend,   // send the bytes
    kSkip,   // say that the server's bytes are to be used
    kAwait,  // the next chunk's reply has not come, and is worth waiting for
  };
  struct Step {
    Action action;
    std::uint64_t offset, size;  // of the bytes that it is about
  };

  UploadOffer(UploadLink& link, const std::byte* memory, std::uint64_t size)
      : link_(link), memory_(memory), size_(size) {}

  // ---- On the sending thread.
  // What is to be done next; the caller does it. REQUIRES: not all bytes are sent or skipped.
  Step next() EXCLUDES(mutex_);
  // Adds the digest of the chunk at `offset` to `digests`. The memory must be there meanwhile.
  void add_digest(std::uint64_t offset, std::vector<std::byte>& digests);
  // What the connection has delivered so far. Call it before the first next(), and after each step.
  void delivered(const Connection::Delivered& now);
  // Whether the server had any of the bytes.
  bool has_skipped() const { return has_skipped_; }

  // The bytes lie elsewhere. Call it before the first next().
  void has_moved_to(const std::byte* memory) { memory_ = memory; }

  // ---- Any thread.
  // Whether the reply that next() awaited has come.
  bool is_answered() const EXCLUDES(mutex_);
  enum class Effect { kImpossible, kTaken, kAwaited };
  // The server's reply: one byte for each chunk from `offset` on. kAwaited: next() has returned kAwait before.
  Effect take_reply(std::uint64_t offset, Bytes found, bool keeps) EXCLUDES(mutex_);

 private:
  enum class Chunk : std::uint8_t { kNew, kOffered, kMissing, kFound };

  std::uint64_t size_at(std::uint64_t offset) const;
  Chunk chunk_at(std::uint64_t offset) const REQUIRES(mutex_);
  bool is_awaiting_worthwhile() const REQUIRES(mutex_) { return has_just_found_ || link_.always_awaits(); }

  UploadLink& link_;
  const std::byte* memory_;
  const std::uint64_t size_;
  std::uint64_t at_ = 0;  // sent or skipped
  std::optional<Connection::Delivered> delivered_;
  std::atomic<bool> has_skipped_{false};

  mutable Mutex mutex_;
  std::vector<Chunk> chunks_ GUARDED_BY(mutex_);     // up to the last one that was offered
  std::uint32_t unanswered_ GUARDED_BY(mutex_) = 0;  // offers
  bool has_just_found_ GUARDED_BY(mutex_) = false;   // the last reply has named chunks that are there
  bool is_awaited_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl
