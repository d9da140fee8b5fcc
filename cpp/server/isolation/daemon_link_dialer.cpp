#include "server/isolation/daemon_link_dialer.h"

#include <utility>

#include "runtime/transport/tcp/tcp.h"

namespace remotecl::server {

LinkDialer::Dialed DaemonLinkDialer::dial(const Wanted& wanted, std::chrono::milliseconds timeout, Deadline deadline,
                                          const std::stop_token& stop) {
  SessionChannel::Packet packet = requests_.dial(wanted, timeout, deadline, stop);
  DialedMessage answer{};
  if (!packet.read(answer)) throw ConnectionError("the server is ending");
  if (answer.is_gone != 0) throw StreamGone(std::string(answer.failure));
  if (packet.lacks_descriptors) throw ConnectionError("the server has too many open files");
  if (packet.descriptors.empty()) throw ConnectionError(std::string(answer.failure));
  const TransportKind kind = wanted.pin ? TransportKind::kTls : TransportKind::kTcp;
  return {tcp::adopt(packet.descriptors.front().release(), kind),
          {answer.features, answer.received, answer.stripes_key},
          {std::string(answer.address.host), answer.address.port}};
}

}  // namespace remotecl::server
