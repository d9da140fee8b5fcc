#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/client/upload/upload_link.h"
#include "runtime/crypto/digest.h"

namespace remotecl {

class Session;

// The steps of a write whose chunks the server may have already: their digests are offered some chunks ahead of the
// bytes, and the chunks that the server has not found are sent. One thread at a time sends; another one delivers the
// replies.
class UploadOffer {
 public:
  enum class Action {
    kOffer,  // send the digests of chunks
    kSend,   // send the bytes
    kSkip,   // say that the server's bytes are to be used
    kAwait,  // the next chunk's reply has not come
  };
  struct Step {
    Action action;
    std::uint64_t offset, size;  // of the bytes that it is about
  };

  // `lenders`: other servers that may have the bytes.
  UploadOffer(UploadLink& link, const std::byte* memory, std::uint64_t size, std::vector<Session*> lenders = {})
      : link_(link), memory_(memory), size_(size), lenders_(std::move(lenders)) {}

  const std::vector<Session*>& lenders() const { return lenders_; }

  // ---- On the sending thread.
  // What is to be done next; the caller does it. REQUIRES: not all bytes are sent or skipped.
  Step next() EXCLUDES(mutex_);
  // Adds the digest of the chunk at `offset` to `digests`. The memory must be there meanwhile.
  void add_digest(std::uint64_t offset, std::vector<std::byte>& digests);
  // The connection's bytes before `position` have arrived. `pauses`: no more are on the way.
  void arrived(std::uint64_t position, bool pauses);

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

  UploadLink& link_;
  const std::byte* memory_;
  const std::uint64_t size_;
  const std::vector<Session*> lenders_;
  std::uint64_t at_ = 0;  // sent or skipped
  std::uint64_t mark_ = 0;  // where measuring has begun
  UploadLink::Clock::time_point marked_{};

  mutable Mutex mutex_;
  std::vector<Chunk> chunks_ GUARDED_BY(mutex_);     // up to the last one that was offered
  std::uint32_t unanswered_ GUARDED_BY(mutex_) = 0;  // offers
  bool has_found_ GUARDED_BY(mutex_) = false;        // the server has any
  bool is_awaited_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl
