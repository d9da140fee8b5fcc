#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/handshake/handshake.h"

namespace remotecl::server {

// This side's questions for builds, and the peer's answers. Owned by the link; any thread.
class LinkQuestions {
 public:
  // Returns the number of a new question, which the caller sends and then awaits.
  std::uint64_t begin() EXCLUDES(mutex_);
  // Returns the peer's answer; empty: it has nothing, the link is lost, or it takes too long. Call it once.
  std::vector<std::byte> await(std::uint64_t question, Deadline deadline) EXCLUDES(mutex_);
  // The peer's answer has come. Throws ProtocolError if there was no question.
  void answered(std::uint64_t question, Bytes answer) EXCLUDES(mutex_);
  // The link is lost: questions have no answer.
  void close() EXCLUDES(mutex_);

 private:
  struct Question {
    bool is_answered = false;
    std::vector<std::byte> answer;
  };

  Mutex mutex_;
  ConditionVariable changed_;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Question> questions_ GUARDED_BY(mutex_);
  std::set<std::uint64_t> abandoned_ GUARDED_BY(mutex_);  // their answers come too late
};

}  // namespace remotecl::server
