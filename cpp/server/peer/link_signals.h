#pragma once

#include <cstdint>
#include <deque>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

class Outbox;

// The ends of events that pass one link. Owned by the link; any thread, also a driver's callback, where nothing else is
// said.
class LinkSignals {
 public:
  struct Signal {
    EventId event;
    std::int32_t status;
  };
  enum class Sent { kYes, kTooMany, kLinkLost };

  LinkSignals(Outbox& outbox, const Ref<SessionCounters>& counters) : outbox_(outbox), held_(counters) {}

  // Tells the peer that an event has ended. Too many: they are kept until the peer acknowledges them, and it does not.
  Sent send(const Signal& signal) EXCLUDES(mutex_);
  // The peer has taken so many. Throws ProtocolError, HeldTooMuch.
  void acknowledged(std::uint64_t count) EXCLUDES(mutex_);
  // The link is lost, and the peer may not know of these. None are sent any more.
  std::deque<Signal> close() EXCLUDES(mutex_);

  // By the thread that reads: a signal of the peer has been taken.
  void take();

 private:
  static constexpr std::uint64_t kSignalsPerAck = 64;

  std::uint64_t unacknowledged_size() const REQUIRES(mutex_);

  Outbox& outbox_;
  std::uint64_t taken_ = 0;  // by the thread that reads
  Mutex mutex_;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  std::deque<Signal> unacknowledged_ GUARDED_BY(mutex_);
  std::uint64_t acknowledged_ GUARDED_BY(mutex_) = 0;
  HeldMemory held_ GUARDED_BY(mutex_);  // by unacknowledged_
};

}  // namespace remotecl::server
