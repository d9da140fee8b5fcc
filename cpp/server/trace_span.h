#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/event.h"
#include "server/queue_progress.h"

namespace remotecl::server {

// Quick kernels of one queue, one after the other, that are traced together: the end of the last one is theirs. Owned
// by the queue, with the session's lock; then by whoever tells of its end.
struct TraceSpan {
  static constexpr std::uint32_t kCommandsMax = 32;

  std::uint64_t last = 0;  // its number
  std::uint32_t count = 0;
  std::uint64_t begun_ns = 0;
  Ref<Event> newest;  // out of order: the newest one that has a native event
  Ref<QueueProgress> progress;
  std::array<Ref<KernelPace>, 4> paces;  // of all kernels in it

  // Whether its next command has to have a native event. In order, the end of the last one can be asked for later; out
  // of order that of every eighth stands for those around it.
  bool needs_event(bool in_order) const { return !in_order && count % 8 == 0; }
  // False when it has too many kernels already.
  bool take(KernelPace& pace) {
    for (Ref<KernelPace>& known : paces) {
      if (known.get() == &pace) return true;
      if (known) continue;
      known = Ref<KernelPace>(&pace);
      return true;
    }
    return false;
  }
};

}  // namespace remotecl::server
