#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/crypto/digest.h"
#include "runtime/handshake/handshake.h"
#include "runtime/protocol/messages.h"

namespace remotecl::server {

class Outbox;

// This side's questions for builds that the peer has. Owned by the link; any thread.
class LinkBuilds {
 public:
  explicit LinkBuilds(Outbox& outbox) : outbox_(outbox) {}

  // Returns the peer's answer; empty: it has no such build, the link is lost, or it takes too long.
  std::vector<std::byte> ask(BuildId build, const Digest& key, Deadline deadline) EXCLUDES(mutex_);
  // The peer's answer has come. Throws ProtocolError if there was no question.
  void answered(std::uint64_t question, Bytes entry) EXCLUDES(mutex_);
  // The link is lost: questions have no answer.
  void close() EXCLUDES(mutex_);

 private:
  struct Question {
    bool is_answered = false;
    std::vector<std::byte> entry;
  };

  Outbox& outbox_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Question> questions_ GUARDED_BY(mutex_);
  std::set<std::uint64_t> abandoned_ GUARDED_BY(mutex_);  // their answers come too late
};

}  // namespace remotecl::server
