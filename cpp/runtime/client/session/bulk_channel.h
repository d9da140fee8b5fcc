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

// A bidirectional stream of a session's bulk data, for the devices whose index modulo the number of channels
// is the channel's number. Owned by the session. Any thread, unless noted otherwise.
class BulkChannel {
 public:
  // The means by which a channel gets its connection.
  struct Joining {
    const Address& address;
    Invitation invitation;
    const Dialer& dialer;
    std::chrono::milliseconds timeout;
    std::chrono::milliseconds window;  // how long reconnecting is tried
    Reconnector* reconnector;          // null: a lost connection stays lost
    unsigned streams;                  // limits the connections that carry all channels together
  };

  BulkChannel(ChannelSession& session, unsigned number);
  ~BulkChannel();
  BulkChannel(const BulkChannel&) = delete;
  BulkChannel& operator=(const BulkChannel&) = delete;

  // Call it once, before anything else. Returns the session's number of channels, which the first channel
  // negotiates. Throws ConnectionError.
  unsigned connect(const Joining& joining);
  const BulkTransport& transport() const { return *transport_; }
  // The stream that can continue on another connection; null if the channel cannot.
  ResumableConnection* stream() const { return stream_; }
  unsigned streams() const { return streams_; }  // connections that carry the channel; 0: shared memory
  // Network cards may move bytes apart from what is sent between them.
  bool has_rdma() const { return has_rdma_; }
  std::uint64_t sent() const { return sender_.transfers(); }        // whole transfers
  std::uint64_t received() const { return receiver_.transfers(); }  // whole transfers
  // The session is lost: stops all transfers.
  void shutdown();
  // After shutdown(), when the session's reader has left for good: ends the threads and releases the
  // connection.
  void release();

  PushWindow& pushes() { return pushes_; }
  BulkSender& sender() { return sender_; }
  ReaderTurn& reader() { return turn_; }
  // A receive has failed: from now on nothing is written to its memory, which returns to the application.
  void withdraw(TransferId failed) { sender_.withdraw(failed); }
  void expect_rest(const TransferRef& failed) { receiver_.expect_rest(failed); }
  // Called on the thread whose turn it is.
  bool read() { return receiver_.read(); }

 private:
  void give_up_in_forks(int descriptor);
  void use(StreamCarrier carrier, const Joining& joining);
  ResumableConnection::Hooks hooks_of(Reconnector& reconnector);
  void read_what_is_expected();

  ChannelSession& session_;
  const unsigned number_;
  // Constant from connect() until release().
  std::unique_ptr<BulkTransport> transport_;  // null once released
  ResumableConnection* stream_ = nullptr;     // of transport_
  unsigned streams_ = 1;
  bool has_rdma_ = false;
  std::vector<int> given_up_in_forks_;
  PushWindow pushes_;
  BulkSender sender_;
  BulkReceiver receiver_;
  ReaderTurn turn_;
};

}  // namespace remotecl
