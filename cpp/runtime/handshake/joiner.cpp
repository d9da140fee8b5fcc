#include "runtime/handshake/joiner.h"

#include <utility>

namespace remotecl {

Acceptance join(Connection& connection, const Address& address, const JoinRequest& request, Deadline deadline) {
  if (request.received) {
    const Resumption there = handshake_again(connection, address, request.role, request.invitation, *request.received,
                                             request.features, deadline);
    return {features_of_stripes(there.stripes), there.received, there.stripes_key};
  }
  const auto shake_hands = request.is_stranger ? handshake_as_stranger : handshake_for_session;
  const Welcome welcome =
      shake_hands(connection, address, request.role, request.invitation, request.features, deadline);
  return {welcome.features, 0, stripes_key(request.invitation, request.role, request.features, welcome.features)};
}

Joiner join_by(Dial dial, Address address) {
  return [dial = std::move(dial), address = std::move(address)](const JoinRequest& request,
                                                                std::chrono::milliseconds timeout, Deadline deadline,
                                                                const std::stop_token& stop) {
    std::shared_ptr<Connection> connection;
    try {
      connection = dial(timeout, deadline);
    } catch (const ConnectionError& error) {
      throw NotConnected(error.what());
    }
    const std::stop_callback end(stop, [connection] { connection->shutdown(); });
    const Acceptance taken = join(*connection, address, request, deadline);
    return Joined{std::move(connection), taken};
  };
}

}  // namespace remotecl
