#include "runtime/transport/connection.h"

#include <poll.h>

namespace remotecl {

// shutdown() ends this, too: the descriptor is writable then.
void Connection::await_writable(std::chrono::milliseconds time) {
  pollfd wait{wait_handle(), POLLOUT, 0};
  ::poll(&wait, 1, static_cast<int>(time.count()));
}

}  // namespace remotecl
