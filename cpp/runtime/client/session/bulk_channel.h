#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/session/channel_session.h"
#include "runtime/client/session/client_transfer.h"
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl {

struct StreamCarrier;

// A stream of a session's bulk data, in both directions: of the devices whose index, modulo the number of channels, is
// the channel's number. Owned by the session; any thread where nothing else is said.
//
// Who writes: the thread that waits for the write, or a thread of the channel's own. Who reads: the session's reader,
// or, while transfers are expected on other channels, too, another thread of the channel's own. Both threads are made
// when they are first needed.
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

  BulkChannel(ChannelSession& session, unsigned number) : session_(session), number_(number) {}
  ~BulkChannel();
  BulkChannel(const BulkChannel&) = delete;
  BulkChannel& operator=(const BulkChannel&) = delete;

  // Once, before anything else. How many channels the session is to have, which the first one finds out. Throws
  // ConnectionError.
  unsigned connect(const Joining& joining);
  const BulkTransport& transport() const { return *transport_; }
  // What another connection may carry on; null: nothing.
  ResumableConnection* stream() const { return stream_; }
  unsigned streams() const { return streams_; }                                 // connections that carry it; 0: memory
  std::uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }  // whole transfers
  std::uint64_t received() const { return received_.load(std::memory_order_relaxed); }  // as well
  // The session is lost: nothing moves any more.
  void shutdown() EXCLUDES(sender_mutex_, reader_mutex_);
  // After that, when the session's reader has left for good: ends the threads and lets go of the connection.
  void release() EXCLUDES(sender_mutex_, reader_mutex_, write_mutex_, lent_mutex_);

  // Room for a pushed write of this size. False when the server would have to keep too much.
  bool take_push_room(std::uint64_t size);
  // Whether that of this size is all that has been pushed and not taken yet.
  bool is_only_push(std::uint64_t size) const {
    return pushed_bytes_.load(std::memory_order_relaxed) - pushed_bytes_taken_.load(std::memory_order_relaxed) <= size;
  }
  // The server has taken so many pushed bytes. False when that cannot be.
  bool pushes_taken(std::uint64_t bytes);
  // Sends the bytes of a transfer from the calling thread, which waits until the server has them if the transfer says
  // so. False when the connection has ended.
  bool send(const TransferRef& transfer) EXCLUDES(write_mutex_, lent_mutex_);
  // The same on the channel's own thread. The transfer fails where no thread can be made.
  void post(TransferRef transfer) EXCLUDES(sender_mutex_, write_mutex_);
  // Ends the transfers that the server says to have received.
  void end_received() EXCLUDES(lent_mutex_);

  // A large transfer will come, or has ended.
  void expect() EXCLUDES(reader_mutex_);
  void stop_expecting();
  // A receive has failed, of which more may come: that is thrown away. Its mutex is held, and it is still in the
  // session's table.
  void expect_rest(const TransferRef& failed) EXCLUDES(failed_mutex_);
  // The session's reader waits for what comes, and reads it, between these. False: another thread does.
  bool enter() EXCLUDES(reader_mutex_);
  void leave() EXCLUDES(reader_mutex_);
  // Who reads: takes what is there. False at the end of the stream, and when the server breaks the protocol.
  bool read();

 private:
  // Who reads. The thread of the channel's own begins when the session's reader has left.
  enum class Reader { kSession, kOwnNext, kOwn };

  struct Lent {
    std::uint64_t end;  // as BulkTransport::bytes_sent() counts
    TransferRef transfer;
    std::unique_ptr<MemoryRegistration> registration;
  };

  std::unique_ptr<MemoryRegistration> register_memory(std::byte* memory, std::uint64_t size) EXCLUDES(write_mutex_);
  void end_threads() EXCLUDES(sender_mutex_, reader_mutex_);
  void give_up_in_forks(int descriptor);
  void use(StreamCarrier carrier, const Joining& joining);
  ResumableConnection::Hooks hooks_of(Reconnector& reconnector);
  void run_sender() EXCLUDES(sender_mutex_);
  void run_reader() EXCLUDES(reader_mutex_);
  void read_what_is_expected();
  TransferRef find_transfer(TransferId id) EXCLUDES(failed_mutex_);
  void forget_failed(TransferId id) EXCLUDES(failed_mutex_);
  void note_failure(TransferId id);
  bool begin_chunk(const BulkHeader& header);
  std::ptrdiff_t read_piece(bool& is_complete);
  void acknowledge();

  // So much is read before the session's reader looks at the other connections.
  static constexpr std::uint64_t kTurn = 1u << 20;
  // Of most failed receives nothing ever comes. More of them than this cannot have bytes on the way.
  static constexpr std::size_t kFailedMax = 1024;

  ChannelSession& session_;
  const unsigned number_;
  // Null when it was released: changed with write_mutex_ and lent_mutex_.
  std::unique_ptr<BulkTransport> transport_;
  ResumableConnection* stream_ = nullptr;  // of transport_
  bool lends_ = false;                     // it keeps what is lent
  unsigned streams_ = 1;
  std::vector<int> given_up_in_forks_;
  std::atomic<std::uint64_t> sent_{0}, received_{0};

  std::atomic<std::uint64_t> pushed_bytes_{0};
  std::atomic<std::uint64_t> pushed_bytes_taken_{0};  // by the server, as far as it has said
  Mutex write_mutex_;                                 // the sending side of transport_
  Mutex lent_mutex_;
  std::deque<Lent> lent_ GUARDED_BY(lent_mutex_);  // sent, and perhaps to be sent again
  Mutex failed_mutex_;
  std::deque<TransferRef> failed_ GUARDED_BY(failed_mutex_);  // receives of which more may come, oldest first
  Mutex sender_mutex_;
  ConditionVariable sender_wanted_;
  std::deque<TransferRef> to_send_ GUARDED_BY(sender_mutex_);
  std::thread sender_ GUARDED_BY(sender_mutex_);
  std::atomic<bool> ended_{false};

  std::atomic<int> expected_{0};  // large transfers to here
  Mutex reader_mutex_;
  ConditionVariable reader_changed_;
  Reader reader_ GUARDED_BY(reader_mutex_) = Reader::kSession;
  bool entered_ GUARDED_BY(reader_mutex_) = false;  // by the session's reader
  std::thread reader_thread_ GUARDED_BY(reader_mutex_);

  // Touched only by the thread that reads.
  TransferRef transfer_;  // the one whose chunk is coming
  std::unique_ptr<MemoryRegistration> registration_;
  std::uint64_t chunk_left_ = 0;      // of it
  std::uint64_t received_bytes_ = 0;  // of the stream: what the server should know
  bool is_due_ = false;               // to tell it
};

}  // namespace remotecl
