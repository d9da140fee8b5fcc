#pragma once

#include <chrono>

#include "server/driver/stdout_capture.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// How long what a session's kernels print waits for its client to read it: as long as that reads at all, but for a
// client that keeps other sessions waiting for their turn. It has little time for that until it has caught up. Owned by
// a session; one thread at a time.
class PrintingPatience {
 public:
  // A turn begins.
  void begin(Outbox& outbox);
  // Whether there is room for more text now. False: for the rest of this turn there is none.
  bool await_room(Outbox& outbox, const StdoutCapture& capture);

 private:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr std::size_t kUnreadTextMax = 4u << 20;
  static constexpr Milliseconds kWithoutProgress{10'000};
  static constexpr Milliseconds kOthersWait{1'000};
  static constexpr Milliseconds kLook{50};  // who waits is looked at so often

  Milliseconds others_waited_{0};
};

}  // namespace remotecl::server
