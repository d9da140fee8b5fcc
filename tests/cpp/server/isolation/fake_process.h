#pragma once

#include <fcntl.h>

#include <chrono>
#include <memory>
#include <utility>

#include "runtime/transport/tcp/tcp.h"
#include "server/isolation/isolated_session.h"

namespace remotecl::testing {

// A process that does nothing, for IsolatedSession, and the end of its channel, at which a test speaks in its place.
struct FakeProcess {
  FakeProcess() : FakeProcess(server::SessionChannel::make()) {}

  server::SessionChannel channel;
  std::unique_ptr<server::ChildProcess> child;

 private:
  explicit FakeProcess(std::pair<server::SessionChannel, server::SessionChannel> ends)
      : channel(server::Descriptor(::fcntl(ends.second.descriptor(), F_DUPFD_CLOEXEC, 0))),
        child(std::make_unique<server::ChildProcess>(server::ProcessCommand{"/bin/sh", {"sh", "-c", "exec sleep 1000"}},
                                                     std::move(ends))) {}
};

// Hands a first connection over to the session's process, which serves it from then on.
inline bool begin(server::IsolatedSession& session, const Address& from) {
  using namespace server;
  PendingHandshakes pending;
  tcp::Listener listener({"127.0.0.1", 0});
  const auto client = tcp::connect(listener.address(), std::chrono::seconds(5));
  auto connection = listener.accept();
  auto slot = pending.enter(*connection, from);
  IncomingConnection incoming{std::move(connection), std::move(*slot), {}, from, {}};
  BeginMessage message{};
  message.connection = ConnectionFields::of(incoming);
  return session.begin(incoming, message);
}

}  // namespace remotecl::testing
