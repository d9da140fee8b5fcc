#pragma once

#include <chrono>

#include "extras/kernel_sockets/space/endpoint.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// A connected stream socket. Bytes go from ring to socket and back without a copy in between. If whoever opened it has
// turned keepalive on, its times also bound how long bytes may go unacknowledged, which the system would send again for
// a quarter of an hour. (TCP_USER_TIMEOUT would end connections whose peer merely does not read for a while, too.)
class StreamEndpoint final : public Endpoint {
 public:
  // Takes the descriptor over; the socket is non-blocking.
  explicit StreamEndpoint(Descriptor socket);

  Moved send(SendRing& ring) override;
  Moved receive(ReceiveRing& ring) override;
  void shutdown() override;
  int loss() const override;
  int descriptor() const override { return socket_.get(); }

 private:
  const Descriptor socket_;
  const std::chrono::seconds silence_max_;  // 0: any
};

}  // namespace remotecl::server
