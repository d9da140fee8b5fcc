#include "server/session/printing_patience.h"

namespace remotecl::server {

void PrintingPatience::begin(Outbox& outbox) {
  if (outbox.wait_for_room(kUnreadTextMax, Milliseconds(0)) <= kUnreadTextMax) others_waited_ = {};
}

bool PrintingPatience::await_room(Outbox& outbox, const StdoutCapture& capture) {
  Milliseconds silent{0};
  for (std::size_t before = SIZE_MAX;;) {
    const bool may_wait = !capture.is_awaited() || others_waited_ < kOthersWait;
    const std::size_t unwritten = outbox.wait_for_room(kUnreadTextMax, may_wait ? kLook : Milliseconds(0));
    if (unwritten <= kUnreadTextMax) return true;
    silent = unwritten < before ? Milliseconds(0) : silent + kLook;
    if (!may_wait || silent >= kWithoutProgress) return false;
    if (capture.is_awaited()) others_waited_ += kLook;
    before = unwritten;
  }
}

}  // namespace remotecl::server
