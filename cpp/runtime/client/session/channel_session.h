#pragma once

#include <CL/cl.h>

#include "runtime/client/session/client_transfer.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// What a bulk channel needs of its session. Any thread.
class ChannelSession {
 public:
  // A transfer from the server that has not ended. Null: there is none such.
  virtual TransferRef find_receive(TransferId id) = 0;
  virtual void end_transfer(const TransferRef& transfer, cl_int status) = 0;
  // Blocks until the transfer has ended. False when the session was lost before.
  virtual bool await(const Transfer& transfer) = 0;
  // Has those who wait look again.
  virtual void wake() = 0;
  // Sends the message soon.
  virtual void acknowledge(const ClientReceived& message) = 0;

  // Has the session's reader look anew at which connections it waits for.
  virtual void stop_polling() = 0;
  // Reads the channel by the calling thread instead of the session's reader. False when the channel has ended.
  virtual bool read_apart(BulkChannel& channel) = 0;

  virtual bool has_one_channel() const = 0;
  // The channel expects large transfers now, or no longer. True when another one does, too.
  virtual bool begin_expecting() = 0;
  virtual void end_expecting() = 0;

 protected:
  ~ChannelSession() = default;
};

}  // namespace remotecl
