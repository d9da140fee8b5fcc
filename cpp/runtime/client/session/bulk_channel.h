#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "runtime/client/session/bulk_receiver.h"
#include "runtime/client/session/bulk_sender.h"
#include "runtime/client/session/channel_session.h"
#include "runtime/client/session/push_window.h"
#include "runtime/client/session/reader_turn.h"
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl {

struct StreamCarrier;

// A stream of a session's bulk data in both directions, for the devices whose index modulo the number of channels is
// the channel's number. Owned by the session; any thread where nothing else is said.
class BulkChannel {
 public:
  // How a channel gets its connection.
  struct Joining {
    const Address& address;
    Invitation invitation;
    const Dialer& dialer;
    std::chrono::milliseconds timeout;
    std::chrono::milliseconds window;  // how long it is tried to connect again
    Reconnector* reconnector;          // null: what is lost stays so
    unsigned streams;                  // over how many connections all channels together may go
  };

  BulkChannel(ChannelSession& session, unsigned number);
  ~BulkChannel();
  BulkChannel(const BulkChannel&) = delete;
  BulkChannel& operator=(const BulkChannel&) = delete;

  // Once, before anything else. Returns how many channels the session is to have, which the first one finds out. Throws
  // ConnectionError.
  unsigned connect(const Joining& joining);
  const BulkTransport& transport() const { return *transport_; }
  // The stream that another connection may carry on; null if there is none.
  ResumableConnection* stream() const { return stream_; }
  unsigned streams() const { return streams_; }                     // connections that carry it; 0: memory
  std::uint64_t sent() const { return sender_.transfers(); }        // whole transfers
  std::uint64_t received() const { return receiver_.transfers(); }  // as well
  // The session is lost: nothing moves any more.
  void shutdown();
  // After that, when the session's reader has left for good: ends the threads and lets go of the connection.
  void release();

  PushWindow& pushes() { return pushes_; }
  BulkSender& sender() { return sender_; }
  ReaderTurn& reader() { return turn_; }
  void expect_rest(const TransferRef& failed) { receiver_.expect_rest(failed); }
  // On the thread whose turn it is.
  bool read() { return receiver_.read(); }

 private:
  void give_up_in_forks(int descriptor);
  void use(StreamCarrier carrier, const Joining& joining);
  ResumableConnection::Hooks hooks_of(Reconnector& reconnector);
  void read_what_is_expected();

  ChannelSession& session_;
  const unsigned number_;
  std::unique_ptr<BulkTransport> transport_;  // null once released
  ResumableConnection* stream_ = nullptr;     // of transport_
  unsigned streams_ = 1;
  std::vector<int> given_up_in_forks_;
  PushWindow pushes_;
  BulkSender sender_;
  BulkReceiver receiver_;
  ReaderTurn turn_;
};

}  // namespace remotecl
