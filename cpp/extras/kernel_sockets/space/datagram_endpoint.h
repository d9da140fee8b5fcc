#pragma once

#include <cstddef>
#include <vector>

#include "extras/kernel_sockets/space/endpoint.h"
#include "extras/kernel_sockets/space/recent_peers.h"
#include "extras/kernel_sockets/space/socket_address.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// A UDP socket. Datagrams are records in the rings. Kernels send to the address that the socket is connected to, to
// those that the broker has resolved, and to those that have sent something: a name is checked once, an answer needs no
// check.
class DatagramEndpoint final : public Endpoint {
 public:
  // Takes the descriptor over; the socket is non-blocking.
  explicit DatagramEndpoint(Descriptor socket);

  // Drops datagrams that the system refuses, as a network may, and those to addresses that may have been forgotten.
  // Fails with EACCES for an address that nothing allows.
  Moved send(SendRing& ring) override;
  Moved receive(ReceiveRing& ring) override;
  void shutdown() override {}
  int descriptor() const override { return socket_.get(); }
  // The broker has resolved a name to the address.
  void allow(const SocketPeer& peer) { resolved_.add(peer); }

 private:
  // The most addresses in each of the two lists, which are separate so that strangers cannot displace addresses that
  // the kernel has named.
  static constexpr std::size_t kPeersMax = 4096;

  // 0, EAGAIN, or the error that ends the socket.
  int send_record(const SendRing& ring, std::uint32_t size);
  // Returns false if there is no datagram.
  bool fetch();

  const Descriptor socket_;
  int family_ = 0;
  RecentPeers resolved_{kPeersMax}, heard_{kPeersMax};
  std::vector<std::byte> datagram_;  // fetched, and waiting for room in the ring
  std::uint32_t fetched_ = 0;        // its size
  bool has_fetched_ = false;
  SocketPeer from_;
};

}  // namespace remotecl::server
