#pragma once

#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/transfer/transfer.h"

namespace remotecl::server {

// Where the bytes of a transfer go or come from: the client, or a peer. Owned by commands in flight, too. Any thread,
// also a driver's callback.
class BulkRoute : public virtual RefCounted {
 public:
  // The transfer may begin: asks for its bytes.
  virtual void pull(Ref<IncomingTransfer> transfer) = 0;
  // The transfer may begin: sends its bytes, or offers them.
  virtual void offer(Ref<OutgoingTransfer> transfer) = 0;
  // No bytes of the transfer are wanted: its command has failed here.
  virtual void drop(TransferId transfer) = 0;
  // No bytes of the transfer will come: its command has failed here.
  virtual void refuse(TransferId transfer, std::int32_t status) = 0;

  // The bytes of a small transfer.
  virtual void send(TransferId transfer, Bytes data) = 0;
  // How many bytes of a transfer that could be small will be offered.
  virtual void announce(TransferId transfer, std::uint64_t size) = 0;
};

}  // namespace remotecl::server
