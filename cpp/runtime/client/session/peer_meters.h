#pragma once

#include <map>

#include "runtime/base/mutex.h"
#include "runtime/client/session/link_meter.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// How fast bytes come to one server from the others, measured by the large transfers between them that this process
// orders anyway. Only transfers that may begin at once count, because nothing reports when another one begins. Any
// thread.
class PeerMeters {
 public:
  // A transfer from `sender` was ordered; and has ended, or failed if `bytes` is 0.
  void begin(PeerId sender) EXCLUDES(mutex_) { from(sender).begin(LinkMeter::Way::kDown); }
  void end(PeerId sender, std::uint64_t bytes) EXCLUDES(mutex_) { from(sender).end(LinkMeter::Way::kDown, bytes); }
  // Calls f(sender, bytes_per_s) for each that has been measured.
  template <class F>
  void for_each(F&& f) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (const auto& [sender, meter] : meters_) {
      if (const double rate = meter.bytes_per_s(LinkMeter::Way::kDown); rate > 0) f(sender, rate);
    }
  }

 private:
  // The reference stays valid.
  LinkMeter& from(PeerId sender) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return meters_[sender];
  }

  mutable Mutex mutex_;
  std::map<PeerId, LinkMeter> meters_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
