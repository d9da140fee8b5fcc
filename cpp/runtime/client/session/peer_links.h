#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

class Session;

// Tracks which servers send data and events directly to each other. A link is made when it is first needed;
// if one side cannot connect, the other side tries. Without a link, everything between the two servers goes
// through this process. Any thread.
class PeerLinks {
 public:
  enum class State { kNone, kConnecting, kConnected, kFailed };
  struct Link {
    Session* first;
    Session* second;
    State state;
    std::string reason;  // why the link failed
  };

  PeerLinks();

  // Begins to link all of these servers with each other, for a look at their network. Does not wait.
  void connect(const std::vector<Session*>& sessions);
  // Returns whether the two are linked; nullopt if nobody knows before connected() has returned. Does not wait.
  std::optional<bool> linked(Session& one, Session& other);
  // The same, but makes the link first, if need be, and waits for one that is being made. Call it without locks.
  bool connected(Session& one, Session& other);
  // Returns true if connected() is likely to be. Makes no first link and waits for none.
  bool can_connect(Session& one, Session& other);
  std::vector<Link> links();

  // Called by sessions for reports of their servers, and when they are lost.
  void report(Session& from, const PeerState& state);
  void undelivered(Session& from, const SignalUndelivered& signal);
  void lost(Session& session);

 private:
  using Key = std::pair<Session*, Session*>;  // by index
  struct Entry {
    State state = State::kNone;
    bool reversed = false;  // the second server connects
    bool both_tried = false;
    LinkId id = 0;          // of the latest attempt
    unsigned reported = 0;  // bit 0: the first server has the link, bit 1: the second one
    bool failed_before = false;
    bool is_reported = false;  // the user knows that there is no link
    std::chrono::steady_clock::time_point begun_at{};
    std::chrono::steady_clock::time_point failed_at{};
    std::string reason;
    std::string loss_notice;  // a notice of its loss, shown when data has to take another route
  };

  static Key key(Session& one, Session& other);
  // A failed link is made again when it is needed, but not all the time.
  static bool is_due_again(const Entry& entry);
  void report_loss(Session& one, Session& other, Entry& entry) REQUIRES(mutex_);
  void begin(const Key& key, Entry& entry) REQUIRES(mutex_);
  void attempt(const Key& key, Entry& entry) REQUIRES(mutex_);
  void fail(const Key& key, Entry& entry) REQUIRES(mutex_);
  void give_up_late(const Key& key, Entry& entry) REQUIRES(mutex_);
  void decided(const Key& key, Entry& entry, State state) REQUIRES(mutex_);
  Session* find(PeerId peer) REQUIRES(mutex_);

  const bool enabled_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::map<Key, Entry> links_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
