#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/client/session/bulk_channel.h"
#include "runtime/client/session/client_transfer.h"
#include "runtime/client/session/control_writer.h"
#include "runtime/client/session/device_indices.h"
#include "runtime/client/session/operations.h"
#include "runtime/client/session/report_sinks.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/client/support/kernel_text.h"
#include "runtime/client/support/wait_limit.h"
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/handshake/server_name.h"
#include "runtime/handshake/stream_pair.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// The client's end of one server: a control connection for messages, channels for bulk data.
//
// Who reads: whoever waits. wait() makes the calling thread the reader, so that a blocking call costs no hand-off; a
// background thread reads when nobody waits and something may arrive. Who writes: whoever enqueues, through a
// ControlWriter. Any thread may call anything. Lives as long as the process: lost sessions stay, so that their objects
// can answer, but for what they would hold of the system: connections, descriptors and threads.
class Session {
 public:
  // Connects and receives the devices. Throws ConnectionError.
  Session(const ServerName& server, std::uint32_t index);
  ~Session();

  const Address& address() const { return address_; }
  // The same without names: another machine may not know them.
  const Address& numeric_address() const { return numeric_address_; }
  // Of the server, as shown by TLS; empty: there is none.
  const std::optional<KeyPin>& key() const { return key_; }
  std::uint32_t index() const { return index_; }       // among those that are not lost, < 64
  PeerId peer_id() const { return index_ + 1; }        // names this server to others
  unsigned bulk_streams() const;                       // connections that bulk data goes over; 0: memory
  const Welcome& welcome() const { return welcome_; }  // what the server said first
  // The first message of the session, for the platform to make its devices from.
  Bytes device_list() const { return {device_list_.data(), device_list_.size()}; }

  // In a forked child, too: a lock that another thread had at the fork is never given back there.
  bool lost() const { return lost_.load(std::memory_order_acquire) || in_forked_child(); }
  // Takes back what a lost session's last thread leaves behind. One thread at a time.
  void reap();
  std::string lost_reason() const;
  // This process is about to stop the server itself: losing it is no news then, and final.
  void expect_shutdown();
  // This process is about to end: the server need not wait for it any more. May do nothing rather than wait.
  void leave();
  // The application has done with the server. What has not ended fails, as when the server is lost.
  void close();
  bool expects_shutdown() const { return shutdown_expected_; }
  Traffic traffic() const;
  // Of its bulk transfers those that have begun. Any thread.
  void list_transfers(std::vector<Operation>& list) const;
  double round_trip_us();  // measured with a Ping; negative when lost

  // Sends a message soon, after Submitter::cheap_delay() at the latest. Never blocks, so what gathers for a server that
  // does not read is bounded only by the commands of its own queues, which submit() holds up.
  template <class Message>
  void send(const Message& message, std::uint16_t flags = 0) {
    if (!lost()) writer_->send(message, flags);
  }
  // The same for a message that submit(), flush() or wait() follows.
  template <class Message>
  void append(const Message& message, std::uint16_t flags = 0) {
    if (!lost()) writer_->append(message, flags);
  }
  // A command has been appended: sends it at once when nothing else is under way. Waits while far too much has
  // gathered, so no lock may be held.
  void submit() {
    if (lost()) return;
    await_room();
    writer_->submit();
  }
  // Sends what the socket takes without blocking: for callers with locks.
  void submit_now() {
    if (!lost()) writer_->submit_now();
  }
  // Sends everything, blocking as needed.
  void flush() {
    if (!lost()) writer_->flush();
  }

  // Blocks until done() is true, the session is lost, or it is too late; false when it was not true before. `done` is
  // called with inbox_mutex_ held, after each batch of received messages. Sends first what lies here and in the
  // process's other sessions.
  bool wait(const std::function<bool()>& done, const OptionalDeadline& deadline = {});
  // Has those who wait look again: what they wait for may have been done by another session.
  void wake();
  // Takes in what has already arrived, without blocking.
  void poll();
  // Something may arrive that nobody waits for (callback, non-blocking read): keeps the background thread reading.
  void add_interest();
  void drop_interest();

  // Register a transfer before the command that names it is sent. `device`: the index of that of the
  // command's queue. The memory stays
  // valid as long as `keep_alive`.
  TransferRef begin_receive(std::uint32_t device, std::byte* to, std::uint64_t size,
                            std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive);
  TransferRef begin_send(std::uint32_t device, const std::byte* from, std::uint64_t size,
                         std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive,
                         bool sender_waits = false);
  // The same for bytes that are sent as soon as the command that names them is, by the calling thread if it waits:
  // saves the round trip of a pull. Null when the server would have to keep too much.
  TransferRef begin_push(std::uint32_t device, const std::byte* from, std::uint64_t size, bool sender_waits);
  // A command that named the transfer failed: nothing will move.
  void fail_transfer(TransferId id, cl_int status);

  // Large transfers to other servers that are under way, as far as known here.
  unsigned sending() const { return sending_.load(std::memory_order_relaxed); }
  void begin_sending() { ++sending_; }
  void end_sending() { --sending_; }

  // Which indices of devices are in use.
  DeviceIndices& device_indices() { return device_indices_; }

  // Events that EventDone and CommandFailed may name. The table does not own them. False when the session is lost:
  // nobody will end the event.
  bool register_event(EventId id, const RefCounted& owner, EventSink& event);
  void unregister_event(EventId id);
  void register_queue(ObjectId id, const RefCounted& owner, QueueSink& queue);
  void unregister_queue(ObjectId id);

  // A reply is delivered once to the function registered for its token, on the reading thread; on loss with nullptr.
  using Reply = std::function<void(std::uint16_t code, const Bytes* payload)>;
  Token expect_reply(Reply reply);

 private:
  friend class BulkChannel;

  void connect();
  void connect_channels(const BulkChannel::Joining& joining);
  std::unique_ptr<Connection> make_stream(std::shared_ptr<Connection> carrier);
  // While the server cannot be reached, only so much is kept for it.
  void await_room() {
    ResumableConnection* const control = streams_.control();
    if (control != nullptr && control->crowded()) [[unlikely]]
      wait_for_room();
  }
  void wait_for_room();
  void receive_device_list();
  void introduce();
  void background();
  void release();
  Traffic traffic_so_far() const;
  enum class Pump { kTake, kSleep, kBusy };
  // Reads and handles what is there. Waits for it, for stop_polling() or for the deadline first: not, asleep, or
  // looking for a while.
  void pump(Pump how, const OptionalDeadline& deadline = {});
  void lose_bulk(const BulkChannel& channel);
  void stop_polling() EXCLUDES(wake_mutex_);
  int wake_handle() EXCLUDES(wake_mutex_) {
    const MutexLock lock(wake_mutex_);
    return wake_;
  }
  bool is_reading() const;  // this thread
  bool read_control();
  // What a channel's own thread does.
  bool read_apart(BulkChannel& channel);
  bool has_one_channel() const { return channels_.size() == 1; }
  // Null: there is none with this number.
  BulkChannel* channel(std::uint32_t number) const {
    return number < channels_.size() ? channels_[number].get() : nullptr;
  }
  void handle(std::uint16_t code, Bytes payload);
  void handle_event_done(const EventDone& report);
  void handle_command_failed(const CommandFailed& report);
  void handle_read_data(const ReadData& report);
  void handle_transfer_size(const TransferSize& report);
  void handle_pull(TransferId id);
  void handle_received(const ServerReceived& report);
  void deliver_reply(Token token, std::uint16_t code, Bytes payload);
  void end_transfer(const TransferRef& transfer, cl_int status);
  // Where bulk data of the device moves, in both directions.
  BulkChannel& channel_of(std::uint32_t device) const;
  TransferRef begin_transfer(std::uint32_t device, TransferRef transfer, std::function<void(cl_int)> finished,
                             std::shared_ptr<void> keep_alive);
  TransferRef find_transfer(TransferId id);
  // Null for one of the other direction too: the server must not read what it may write, or the reverse.
  TransferRef find_transfer(TransferId id, bool sends);
  SinkTable<EventSink>::Found find_event(EventId id);
  SinkTable<QueueSink>::Found find_queue(ObjectId id);
  void lose(const std::string& reason);

  const Address address_;
  Address numeric_address_;
  std::optional<KeyPin> key_;
  const std::uint32_t index_;
  const std::chrono::milliseconds window_;  // how long it is tried to connect again
  const Dialer dialer_;
  const bool is_exclusive_;
  const unsigned bulk_streams_max_;
  StreamPair streams_;  // the channels have their own
  std::shared_ptr<Connection> control_;
  std::shared_ptr<ControlWriter> writer_;  // the write side of control_
  std::vector<std::unique_ptr<BulkChannel>> channels_;
  std::atomic<unsigned> expecting_{0};  // channels on which large transfers will come
  std::unique_ptr<Reconnector> reconnector_;
  std::vector<int> given_up_in_forks_;
  Welcome welcome_{};
  std::vector<std::byte> device_list_;
  DeviceIndices device_indices_;

  std::atomic<unsigned> sending_{0};
  std::atomic<bool> lost_{false};
  std::atomic<bool> shutdown_expected_{false};
  mutable Mutex lost_mutex_;
  std::string lost_reason_ GUARDED_BY(lost_mutex_);
  bool is_released_ GUARDED_BY(lost_mutex_) = false;  // with lost_mutex_: the connections are not to be used any more
  Traffic last_traffic_ GUARDED_BY(lost_mutex_);      // then

  // The reader's role: one thread at a time, handed over under inbox_mutex_.
  Mutex inbox_mutex_;
  ConditionVariable inbox_changed_;
  ConditionVariable background_wanted_;
  bool reading_ GUARDED_BY(inbox_mutex_) = false;
  KernelText kernel_text_;  // who reads
  bool background_reads_ GUARDED_BY(inbox_mutex_) = false;
  std::atomic<bool> stopping_{false};
  int waiters_ GUARDED_BY(inbox_mutex_) = 0;
  std::uint64_t waits_ GUARDED_BY(inbox_mutex_) =
      0;  // how often a thread has waited: tells the background thread that it is not needed yet
  std::atomic<int> interest_{0};
  Mutex wake_mutex_;
  int wake_ GUARDED_BY(wake_mutex_) =
      -1;  // eventfd that takes the thread that reads out of poll; -1: nobody will read any more

  // Touched only by the reader.
  MessageBuffer inbox_;
  std::atomic<std::uint64_t> messages_received_{0};

  mutable Mutex tables_mutex_;
  std::unordered_map<TransferId, TransferRef> transfers_ GUARDED_BY(tables_mutex_);
  SinkTable<EventSink> events_ GUARDED_BY(tables_mutex_);
  SinkTable<QueueSink> queues_ GUARDED_BY(tables_mutex_);
  std::unordered_map<Token, Reply> replies_ GUARDED_BY(tables_mutex_);

  std::thread background_thread_;
  std::atomic<bool> is_over_{false};  // all but its end
};

}  // namespace remotecl
