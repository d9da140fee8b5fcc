#pragma once

#include <chrono>

#include "server/driver/stdout_capture.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// Decides how long printed text waits for the client to read it: as long as the client reads at all, unless
// other sessions wait for their turn to print. Then the client has little time, until it has caught up. Owned
// by a session; one thread at a time.
class PrintingPatience {
 public:
  // A turn begins.
  void begin(Outbox& outbox);
  // Waits for room for more text. Returns false if there will be none for the rest of this turn.
  bool await_room(Outbox& outbox, const StdoutCapture& capture);

 private:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr std::size_t kUnreadTextMax = 4u << 20;
  static constexpr Milliseconds kWithoutProgress{10'000};
  static constexpr Milliseconds kOthersWait{1'000};
  static constexpr Milliseconds kLook{50};  // how often it checks whether others wait

  Milliseconds others_waited_{0};
};

}  // namespace remotecl::server
