#pragma once

#include <CL/cl.h>

#include "runtime/client/session/client_transfer.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The part of a session that its bulk channels use. Any thread.
class ChannelSession {
 public:
  // A running transfer from the server; null if there is none with this id.
  virtual TransferRef find_receive(TransferId id) = 0;
  virtual void end_transfer(const TransferRef& transfer, cl_int status) = 0;
  // Blocks until the transfer has ended. Returns false if the session is lost before.
  virtual bool await(const ClientTransfer& transfer) = 0;
  // Blocks until the server has answered the transfer's offers, or the transfer has ended. Returns false if the
  // session is lost before.
  virtual bool await_reply(const ClientTransfer& transfer) = 0;
  virtual void offer(const OfferChunks& message) = 0;
  // The server had these bytes of a transfer already.
  virtual void found(std::uint64_t size) = 0;
  // Makes waiting threads check their conditions again.
  virtual void wake() = 0;
  // Sends the message soon.
  virtual void acknowledge(const ClientReceived& message) = 0;

  // Makes the session's reader determine anew which connections it polls.
  virtual void stop_polling() = 0;
  // Reads the channel on the calling thread instead of the session's reader. Returns false if the channel has
  // ended.
  virtual bool read_apart(BulkChannel& channel) = 0;

  virtual bool has_one_channel() const = 0;
  // The channel expects large transfers from now on, or no longer does. Returns true if another channel also
  // expects some.
  virtual bool begin_expecting() = 0;
  virtual void end_expecting() = 0;

 protected:
  ~ChannelSession() = default;
};

}  // namespace remotecl
