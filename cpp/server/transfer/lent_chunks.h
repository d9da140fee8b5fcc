#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/crypto/digest.h"
#include "runtime/protocol/messages.h"
#include "server/quota/held_memory.h"
#include "server/transfer/upload_store.h"
#include "server/util/worker.h"

namespace remotecl::server {

// Chunks of the session's user that its client lends to other servers: each once, and only to the server that the
// client has named. That server may ask before the client has named it. Owned by a session; any thread.
class LentChunks {
 public:
  // Takes the chunk, or nothing. Called without a lock of this class.
  using Responder = std::function<void(Bytes)>;

  LentChunks(UploadStore& store, std::string owner, const Ref<SessionCounters>& counters)
      : store_(store), owner_(std::move(owner)), held_(counters) {}

  // Throws ProtocolError, HeldTooMuch.
  void lend(std::uint64_t loan, PeerId to, Bytes digests) EXCLUDES(mutex_);
  // Answers with the chunk, on a thread that reads it, or at once with nothing. Keeps a question that comes before
  // lend() until then.
  void ask(std::uint64_t loan, PeerId by, const Digest& digest, Responder respond) EXCLUDES(mutex_);
  // The session has ended: questions are dropped.
  void stop() EXCLUDES(mutex_);

 private:
  struct Question {
    PeerId by;
    Digest digest;
    Responder respond;
  };
  struct Loan {
    PeerId to = 0;  // 0: the client has not named it
    std::set<Digest> digests;
    std::vector<Question> questions;
  };
  // Servers ask soon after the loan, so only the latest loans are kept.
  static constexpr std::size_t kLoansMax = 32;
  static constexpr std::size_t kUnknownMax = 16;  // that were asked for before they were named
  static constexpr std::size_t kDigestSize = 96;  // estimated, with its place in a set

  // Returns the questions that have waited for it.
  std::vector<Question> name(std::uint64_t loan, PeerId to, Bytes digests) REQUIRES(mutex_);
  void forget_old() REQUIRES(mutex_);
  Bytes read(const Digest& digest, std::vector<std::byte>& storage) const;

  UploadStore& store_;
  const std::string owner_;
  Mutex mutex_;
  std::map<std::uint64_t, Loan> loans_ GUARDED_BY(mutex_);
  std::uint64_t forgotten_ GUARDED_BY(mutex_) = 0;  // this one and all before it
  HeldMemory held_ GUARDED_BY(mutex_);
  Worker readers_{2};
};

}  // namespace remotecl::server
