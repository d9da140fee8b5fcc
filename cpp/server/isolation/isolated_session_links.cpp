// The connections of links that the daemon makes for a session's process.
#include <fcntl.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/isolation/isolated_session.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kDialTimeMax{30'000};

}  // namespace

void IsolatedSession::dial(const DialMessage& message) {
  const std::uint64_t number = message.number;
  const auto wanted = message.wanted();
  const auto fail = [&](std::string_view why) { answer(DialedMessage{number, why, 0, 0, 0, {}, {}}, Descriptor()); };
  if (!wanted) return fail("that is no connection of a link");
  if (dials_running_ >= kDialsMax) return fail("too many connections at a time");
  const auto timeout = std::min(std::chrono::milliseconds(message.timeout_ms), kDialTimeMax);
  const auto deadline =
      std::chrono::steady_clock::now() + std::min(std::chrono::milliseconds(message.patience_ms), kDialTimeMax);
  ++dials_running_;
  try {
    dials_.post([this, number, wanted = *wanted, timeout, deadline] {
      run_dial(number, wanted, timeout, deadline);
      --dials_running_;
    });
  } catch (const std::system_error& error) {
    --dials_running_;
    fail(error.what());
  }
}

// The process gets connections that another server has accepted as parts of a link, and no others.
void IsolatedSession::run_dial(std::uint64_t number, const LinkDialer::Wanted& wanted,
                               std::chrono::milliseconds timeout, Deadline deadline) {
  DialedMessage message{number, {}, 0, 0, 0, {}, {}};
  std::string failure;
  try {
    LinkDialer::Dialed dialed = dialer_->dial(wanted, timeout, deadline, ending_.get_token());
    const Acceptance& taken = dialed.taken;
    message = {
        number, {}, 0, taken.features, taken.received, taken.stripes_key, {dialed.address.host, dialed.address.port}};
    const Descriptor descriptor = hand_over(std::move(dialed.connection));
    if (answer(message, descriptor)) return;
    failure = "the daemon has too many descriptors on their way";
  } catch (const StreamGone& gone) {
    failure = gone.what();
    message.is_gone = 1;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  answer(DialedMessage{number, failure, message.is_gone, 0, 0, {}, {}}, Descriptor());
}

bool IsolatedSession::answer(const DialedMessage& message, const Descriptor& descriptor) {
  SessionChannel& channel = process_->channel();
  if (!descriptor.valid()) return channel.deliver(PacketType::kDialed, message, {}, watch_.handle());
  return channel.deliver(PacketType::kDialed, message, {descriptor.get()}, watch_.handle());
}

Descriptor IsolatedSession::hand_over(std::unique_ptr<Connection> connection) {
  if (is_socket(*connection)) return Descriptor(::fcntl(connection->wait_handle(), F_DUPFD_CLOEXEC, 0));
  if (dialed_relays_ >= kRelaysMax) throw ConnectionError("too many links speak TLS at a time");
  const auto relay = std::make_shared<TlsRelay>(connection);
  Descriptor end = relay->take_end();
  if (!enter(*relay)) throw ConnectionError("the session ends");
  ++dialed_relays_;
  try {
    relay_threads_.post([this, relay] {
      relay->run();
      --dialed_relays_;
      leave(*relay);
    });
  } catch (const std::system_error&) {
    --dialed_relays_;
    leave(*relay);
    throw;
  }
  return end;
}

}  // namespace remotecl::server
