#pragma once

#include <cstdint>
#include <deque>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

class Outbox;

// The ends of events that one link carries. Owned by the link. Any thread, including a driver's callback,
// unless noted otherwise.
class LinkSignals {
 public:
  struct Signal {
    EventId event;
    std::int32_t status;
  };
  enum class Sent { kYes, kTooMany, kLinkLost };

  LinkSignals(Outbox& outbox, const Ref<SessionCounters>& counters) : outbox_(outbox), held_(counters) {}

  // Reports to the peer that an event has ended. Signals are kept until the peer acknowledges them; kTooMany: too many
  // are unacknowledged.
  Sent send(const Signal& signal) EXCLUDES(mutex_);
  // The peer has taken this many signals. Throws ProtocolError, HeldTooMuch.
  void acknowledged(std::uint64_t count) EXCLUDES(mutex_);
  // The link is lost: returns the signals that the peer may not have got. No more are sent.
  std::deque<Signal> close() EXCLUDES(mutex_);

  // Called by the reading thread: a signal of the peer has been taken.
  void take();

 private:
  static constexpr std::uint64_t kSignalsPerAck = 64;

  std::uint64_t unacknowledged_size() const REQUIRES(mutex_);

  Outbox& outbox_;
  std::uint64_t taken_ = 0;  // used by the reading thread
  Mutex mutex_;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  std::deque<Signal> unacknowledged_ GUARDED_BY(mutex_);
  std::uint64_t acknowledged_ GUARDED_BY(mutex_) = 0;
  HeldMemory held_ GUARDED_BY(mutex_);  // for unacknowledged_
};

}  // namespace remotecl::server
