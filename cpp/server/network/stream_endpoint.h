#pragma once

#include "server/network/endpoint.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// A connected stream socket. Bytes go from ring to socket and back without a copy in between.
class StreamEndpoint final : public Endpoint {
 public:
  // Takes the descriptor over; the socket is non-blocking.
  explicit StreamEndpoint(Descriptor socket);

  Moved send(SendRing& ring) override;
  Moved receive(ReceiveRing& ring) override;
  void shutdown() override;
  int descriptor() const override { return socket_.get(); }

 private:
  const Descriptor socket_;
};

}  // namespace remotecl::server
