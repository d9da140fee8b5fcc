#pragma once

#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/transfer/transfer.h"

namespace remotecl::server {

// Connects a transfer with the source or destination of its bytes: the client or a peer. Commands in flight
// are also owners. Any thread, including a driver's callback.
class BulkRoute : public virtual RefCounted {
 public:
  // The transfer may begin: requests its bytes.
  virtual void pull(Ref<IncomingTransfer> transfer) = 0;
  // The transfer may begin: sends its bytes, or offers them.
  virtual void offer(Ref<OutgoingTransfer> transfer) = 0;
  // Cancels the transfer's bytes: its command has failed here.
  virtual void drop(TransferId transfer) = 0;
  // Reports that no bytes of the transfer will come: its command has failed here.
  virtual void refuse(TransferId transfer, std::int32_t status) = 0;

  // Sends the bytes of a small transfer.
  virtual void send(TransferId transfer, Bytes data) = 0;
  // Announces the size of a transfer that could have been small, but whose bytes will be offered.
  virtual void announce(TransferId transfer, std::uint64_t size) = 0;
};

}  // namespace remotecl::server
