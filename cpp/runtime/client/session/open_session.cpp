#include "runtime/client/session/open_session.h"

#include <algorithm>
#include <chrono>

#include "runtime/handshake/reconnector.h"
#include "runtime/handshake/retries.h"
#include "runtime/transport/passing_failure.h"

namespace remotecl {
namespace {

// The near end of a tunnel to nowhere breaks each connection, and another program may, too: people wait for the answer.
constexpr std::chrono::milliseconds kStrangerWindow{2000};

}  // namespace

std::unique_ptr<Session> open_session(SessionGroup& group, const ServerName& server, std::uint32_t index) {
  const std::chrono::milliseconds window = reconnect_window();
  Retries retries;
  for (bool is_server = false;;) {
    try {
      return std::make_unique<Session>(group, server, index);
    } catch (const PassingFailure& failure) {
      is_server = is_server || failure.is_of_server;
      retries.rest(is_server ? window : std::min(window, kStrangerWindow));
    }
  }
}

}  // namespace remotecl
