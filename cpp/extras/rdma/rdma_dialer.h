#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "extras/rdma/rdma_channel.h"
#include "runtime/transport/address.h"

namespace remotecl {

// Bytes that a request, or the answer to it, can carry beside the transport's own.
inline constexpr std::size_t kRdmaHelloMax = CmEvent::kDataMax - sizeof(rdma::Preamble);

struct DialedRdma {
  std::unique_ptr<RdmaChannel> channel;
  std::vector<std::byte> reply;  // of the accepting side
};

// Connects to a listener; `hello` is at most kRdmaHelloMax bytes. Throws RdmaUnavailable where this machine has no
// RDMA, ConnectionError when the other side does not answer, refuses, or cannot be reached from a port with RDMA; also
// once `stop`, if there is one, is readable.
DialedRdma dial_rdma(const Address& address, Bytes hello, std::chrono::milliseconds timeout, int stop = -1);

namespace rdma {

// The content of a request or a reply: the preamble and the caller's bytes. A value.
class Hello {
 public:
  explicit Hello(Bytes bytes);
  rdma_conn_param parameters() const;  // refers to this

 private:
  std::array<std::byte, CmEvent::kDataMax> data_{};
  std::size_t size_;
};

// Returns the caller's bytes of an event; nothing if it does not come from a peer of this version.
std::optional<Bytes> hello_of(const CmEvent& event);

}  // namespace rdma
}  // namespace remotecl
