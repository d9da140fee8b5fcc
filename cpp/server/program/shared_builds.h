#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/crypto/digest.h"
#include "runtime/protocol/messages.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

// Results of builds that the client has also sent to other servers, kept to answer their questions. A question may come
// before the build. Owned by a session; any thread.
class SharedBuilds {
 public:
  // Takes the encoded build (StoredBuilds::encode()), or nothing if there is none. Called without a lock of this class.
  using Responder = std::function<void(Bytes)>;

  explicit SharedBuilds(const Ref<SessionCounters>& counters) : held_(counters) {}

  void publish(BuildId build, const Digest& key, std::vector<std::byte> entry) EXCLUDES(mutex_);
  // Nothing more is published of this build.
  void end(BuildId build) EXCLUDES(mutex_);
  // Answers when the build is published or has ended.
  void ask(BuildId build, const Digest& key, Responder respond) EXCLUDES(mutex_);
  // The session has ended: questions are dropped.
  void clear() EXCLUDES(mutex_);

 private:
  using Entry = std::shared_ptr<const std::vector<std::byte>>;
  struct Question {
    Digest key;
    Responder respond;
  };
  struct Build {
    std::map<Digest, Entry> entries;
    std::vector<Question> questions;
    std::size_t answered = 0;
    bool has_ended = false;
  };
  // Other servers ask soon, so only the latest of the ended builds are kept.
  static constexpr std::size_t kBuildsMax = 16;
  static constexpr std::size_t kSizeMax = 32u << 20;
  static constexpr std::size_t kQuestionsMax = 256;  // of one build
  static constexpr std::size_t kUnknownMax = 64;     // builds that were asked for before they came

  void forget_ended() REQUIRES(mutex_);
  std::size_t size() const REQUIRES(mutex_);

  Mutex mutex_;
  std::map<BuildId, Build> builds_ GUARDED_BY(mutex_);
  BuildId forgotten_ GUARDED_BY(mutex_) = 0;  // this one and all before it, unless they are in the map
  HeldMemory held_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
