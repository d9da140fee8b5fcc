#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/driver/queue_progress.h"
#include "server/execution/event.h"

namespace remotecl::server {

// Quick kernels of one queue, one after the other, that are traced together: the end of the last one is theirs. Owned
// by the queue, with the session's lock; then by whoever tells of its end.
struct TraceSpan {
  static constexpr std::uint32_t kCommandsMax = 64;
  // Longer than what an event costs (2 us on PoCL, 5 on NVIDIA's driver) by so much that the cost is not seen, and not
  // longer: of the commands in it nobody knows the single times.
  static constexpr std::uint64_t kTakesNsMax = 400'000;

  std::uint64_t last = 0;  // its number
  std::uint32_t count = 0;
  std::uint64_t expected_ns = 0;  // what they take together
  std::uint64_t begun_ns = 0;
  Ref<Event> newest;  // in order: the last one, if it has a native event; out of order: the last one that has
  Ref<QueueProgress> progress;
  std::array<Ref<KernelPace>, 4> paces;  // of all kernels in it

  // Whether a further command that takes so long is its last one.
  bool ends_with(std::uint64_t takes_ns) const {
    return count + 1 >= kCommandsMax || expected_ns + takes_ns >= kTakesNsMax;
  }
  // Whether that command has to have a native event. Out of order the end of every sixteenth stands for those around
  // it.
  bool needs_event(bool in_order, std::uint64_t takes_ns) const {
    return ends_with(takes_ns) || (!in_order && count % 16 == 0);
  }
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
