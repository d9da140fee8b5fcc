#include "runtime/greeting/greeting.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/transport/shared_memory.h"

namespace remotecl {

Welcome greet(Connection& connection, const Address& address, Role role, std::uint64_t session, const Secret& secret,
              std::uint64_t features) {
  const Hello hello{kMagic, kProtocolVersion, role, features, session, secret};
  std::array<std::byte, kWelcomeSize> answer;
  connection.set_read_timeout(std::chrono::milliseconds(kHandshakeTimeoutMs));
  if (!connection.write(Bytes(encode_frame<Hello, kHelloSize>(hello))) || !connection.read_exactly(answer)) {
    throw ConnectionError(address.text() +
                          " did not answer as a remotecl-server; is another program on that port? If it is a tunnel: "
                          "is the server still at its other end, and does the SSH server allow forwarding?");
  }
  const auto welcome = decode_frame<Welcome>(answer);
  if (welcome.magic != kMagic) {
    throw ConnectionError(address.text() + " is not a remotecl-server; check the port");
  }
  std::string text(std::min(welcome.text_size, kWelcomeTextMax), '\0');
  connection.read_exactly(std::as_writable_bytes(std::span(text.data(), text.size())));
  if (welcome.status == WelcomeStatus::kVersionMismatch || welcome.version != kProtocolVersion) {
    throw ConnectionError(address.text() + " speaks version " + std::to_string(welcome.version) +
                          " of the protocol and this side version " + std::to_string(kProtocolVersion) +
                          "; install the same remotecl release on both machines");
  }
  if (welcome.status != WelcomeStatus::kAccepted) {
    throw ConnectionError(address.text() + " refused the connection: " + text);
  }
  connection.set_read_timeout(std::chrono::milliseconds(0));
  return welcome;
}

std::uint64_t bulk_features() { return shared_memory::wanted() ? kFeatureSharedMemory : 0; }

std::unique_ptr<Connection> share_memory(std::unique_ptr<Connection> connection, const Address& address,
                                         const Welcome& welcome) {
  if ((welcome.features & bulk_features()) == 0) return connection;
  connection->set_read_timeout(std::chrono::milliseconds(kHandshakeTimeoutMs));
  connection = shared_memory::offer(std::move(connection));
  if (connection == nullptr) throw ConnectionError(address.text() + " ended the connection; see its log");
  connection->set_read_timeout(std::chrono::milliseconds(0));
  return connection;
}

}  // namespace remotecl
