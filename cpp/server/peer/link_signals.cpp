#include "server/peer/link_signals.h"

#include <utility>

#include "server/util/protocol_error.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

std::uint64_t LinkSignals::unacknowledged_size() const {
  constexpr std::uint64_t kEach = 64;  // estimated
  return kEach * unacknowledged_.size();
}

LinkSignals::Sent LinkSignals::send(const Signal& signal) {
  const MutexLock lock(mutex_);
  if (is_closed_) return Sent::kLinkLost;
  unacknowledged_.push_back(signal);
  outbox_.send(PeerSignal{signal.event, signal.status});
  return held_.try_follow(unacknowledged_size()) ? Sent::kYes : Sent::kTooMany;
}

void LinkSignals::acknowledged(std::uint64_t count) {
  const MutexLock lock(mutex_);
  if (count > acknowledged_ + unacknowledged_.size()) {
    throw ProtocolError("a peer acknowledges signals that it did not get");
  }
  for (; acknowledged_ < count; ++acknowledged_) unacknowledged_.pop_front();
  held_.follow(unacknowledged_size());
}

std::deque<LinkSignals::Signal> LinkSignals::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  held_.follow(0);
  return std::exchange(unacknowledged_, {});
}

void LinkSignals::take() {
  if (++taken_ % kSignalsPerAck == 0) outbox_.send(PeerAck{taken_});
}

}  // namespace remotecl::server
