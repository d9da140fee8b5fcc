#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/client/session/channel_session.h"
#include "runtime/client/session/device_indices.h"
#include "runtime/client/session/inbox_reader.h"
#include "runtime/client/session/load_watch.h"
#include "runtime/client/session/loss_state.h"
#include "runtime/client/session/operations.h"
#include "runtime/client/session/peer_meters.h"
#include "runtime/client/session/reply_table.h"
#include "runtime/client/session/report_sinks.h"
#include "runtime/client/session/session_connection.h"
#include "runtime/client/session/session_group.h"
#include "runtime/client/session/transfer_table.h"
#include "runtime/client/support/kernel_text.h"
#include "runtime/client/support/wait_limit.h"
#include "runtime/handshake/server_name.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The client's end of one server: a control connection for messages, channels for bulk data.
//
// The waiting thread reads (InboxReader), the enqueuing thread writes (ControlWriter), and any thread may
// call anything. Lives as long as the process: lost sessions stay, so that their objects can answer, but
// release their connections, descriptors and threads.
class Session final : private InboxReader::Owner, private ChannelSession {
 public:
  // Connects and receives the devices. Throws ConnectionError.
  Session(SessionGroup& group, const ServerName& server, std::uint32_t index);
  ~Session();

  // What all sessions of the client share.
  SessionGroup& group() const { return group_; }

  const Address& address() const { return connection_.address(); }
  // The same without names, which another machine may be unable to resolve.
  const Address& numeric_address() const { return connection_.numeric_address(); }
  // The server's key, as shown by TLS; empty without TLS.
  const std::optional<KeyPin>& key() const { return connection_.key(); }
  std::uint32_t index() const { return index_; }  // among the sessions whose loss is not settled
  PeerId peer_id() const { return index_ + 1; }   // identifies this server to others
  // Connections that carry bulk data; 0: shared memory.
  unsigned bulk_streams() const { return connection_.channels().streams(); }
  const Welcome& welcome() const { return connection_.welcome(); }  // the server's part of the handshake
  // The session's first message, from which the platform makes its devices.
  Bytes device_list() const { return connection_.device_list(); }

  bool lost() const { return loss_.lost(); }
  // Returns true once all that the loss ends has ended, and the other servers know of it.
  bool loss_is_settled() const { return loss_.settled(); }
  std::string lost_reason() const { return loss_.reason(); }
  // The session cannot go on: fails everything that has not ended.
  void lose(const std::string& reason) override;
  // Joins a lost session's last thread. One thread at a time.
  void reap() { reader_.reap(); }
  // This process is about to stop the server itself, so its loss is final and not reported.
  void expect_shutdown();
  // This process is about to end, and the server need not wait for it. May do nothing if that would block.
  void leave();
  // The application no longer needs the server. What has not ended fails, as if the server were lost.
  void close();
  SessionConnection::Counts counts() const { return connection_.counts(); }
  Traffic traffic() const { return counts().traffic; }
  // Lists the bulk transfers that have begun.
  void list_transfers(std::vector<Operation>& list) const { transfers_.list(list, address().text()); }
  // Measured with a Ping; negative if the session is lost, or if the server has not answered by the deadline.
  double round_trip_us(const OptionalDeadline& deadline = {});
  // How fast bulk data passes, as measured; 0: no large transfer has ended yet.
  double bytes_per_s(LinkMeter::Way way) const { return transfers_.bytes_per_s(way); }
  PeerMeters& peer_meters() { return peer_meters_; }
  const PeerMeters& peer_meters() const { return peer_meters_; }

  // Sends a message soon, after Submitter::cheap_delay() at the latest. Never blocks. So the messages for a
  // server that does not read are limited only by the commands of its own queues, which submit() delays.
  template <class Message>
  void send(const Message& message, std::uint16_t flags = 0) {
    if (!lost()) connection_.writer().send(message, flags);
  }
  // The same for a message that is followed by submit(), flush() or wait().
  template <class Message>
  void append(const Message& message, std::uint16_t flags = 0) {
    if (!lost()) connection_.writer().append(message, flags);
  }
  // A command has been appended: sends it at once if nothing else is in progress. Waits while far too much is
  // batched, so the caller must not hold a lock.
  void submit() {
    if (lost()) return;
    await_room();
    connection_.writer().submit();
  }
  // Sends as much as the socket takes without blocking, for callers that hold locks.
  void submit_now() {
    if (!lost()) connection_.writer().submit_now();
  }
  // Sends everything, blocking as needed.
  void flush() {
    if (!lost()) connection_.writer().flush();
  }

  // Like InboxReader::wait(), after sending the batched messages of all sessions of the process.
  bool wait(const std::function<bool()>& done, const OptionalDeadline& deadline = {});
  // Writes what kernels have printed whose ends are known. Waits for whoever reads standard output.
  void show_output() { kernel_text_.write(); }
  // Makes waiting threads check their conditions again, because another session may have fulfilled them.
  void wake() override { reader_.wake(); }
  // Reads what has already arrived, without blocking.
  void poll() {
    flush();
    reader_.poll();
  }
  // Something may arrive for which no thread waits (callback, non-blocking read): keeps the background thread
  // reading.
  void add_interest() { reader_.add_interest(); }
  void drop_interest() { reader_.drop_interest(); }

  // See TransferTable.
  TransferRef begin_receive(std::uint32_t device, std::byte* to, std::uint64_t size,
                            std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive,
                            const std::optional<Rows>& rows = {}) {
    return transfers_.begin_receive(device, to, size, std::move(finished), std::move(keep_alive), rows);
  }
  TransferRef begin_send(std::uint32_t device, const std::byte* from, std::uint64_t size,
                         std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive,
                         bool sender_waits = false, const std::optional<Rows>& rows = {}) {
    return transfers_.begin_send(device, from, size, std::move(finished), std::move(keep_alive), sender_waits, rows);
  }
  bool take_push(std::uint32_t device, std::uint64_t size, bool blocking) {
    return transfers_.take_push(device, size, blocking);
  }
  TransferRef begin_push(std::uint32_t device, const std::byte* from, std::uint64_t size,
                         std::function<void(cl_int)> finished, bool blocking, bool sender_waits) {
    return transfers_.begin_push(device, from, size, std::move(finished), blocking, sender_waits);
  }

  // Returns when nothing is sent from this memory any more. Bytes that the server has not requested yet are copied.
  void stop_sending_from(const std::byte* memory, std::uint64_t size);

  // The number of running large transfers to other servers, as far as this process knows.
  unsigned sending() const { return sending_.load(std::memory_order_relaxed); }
  void begin_sending() { ++sending_; }
  void end_sending() { --sending_; }

  // The device indices in use.
  DeviceIndices& device_indices() { return device_indices_; }

  // Events that EventDone and CommandFailed may name. The table does not own them. Returns false if the
  // session is lost; then nothing will end the event.
  bool register_event(EventId id, const RefCounted& owner, EventSink& event) { return events_.add(id, owner, event); }
  void unregister_event(EventId id) { events_.remove(id); }
  SinkTable<EventSink>::Found find_event(EventId id) const { return events_.find(id); }
  void register_queue(ObjectId id, const RefCounted& owner, QueueSink& queue) { queues_.add(id, owner, queue); }
  void unregister_queue(ObjectId id) { queues_.remove(id); }

  // Reports to `sink` the load that others put on the server's devices, until it is replaced; null ends that. When
  // this returns, the former sink is not called any more; a sink must not call it.
  void watch_loads(LoadSink* sink);

  // See ReplyTable.
  using Reply = ReplyTable::Reply;
  Token expect_reply(Reply reply) { return replies_.expect(std::move(reply)); }

 private:
  // Limits what is kept for a server while it cannot be reached.
  void await_room() {
    if (connection_.is_crowded()) [[unlikely]]
      wait_for_room();
  }
  void wait_for_room();
  void introduce();

  // InboxReader::Owner
  bool read_control() override;
  void release() override;

  // ChannelSession
  TransferRef find_receive(TransferId id) override { return transfers_.find_moving(id, false); }
  void end_transfer(const TransferRef& transfer, cl_int status) override { transfers_.end(transfer, status); }
  bool await(const ClientTransfer& transfer) override;
  bool await_reply(const ClientTransfer& transfer) override;
  void offer(const OfferChunks& message) override;
  void found(std::uint64_t size) override { group_.fetched.found.add(size); }
  void acknowledge(const ClientReceived& message) override;
  void stop_polling() override { reader_.stop_polling(); }
  bool read_apart(BulkChannel& channel) override { return reader_.read_apart(channel); }
  bool has_one_channel() const override { return connection_.channels().is_one(); }
  bool begin_expecting() override { return connection_.channels().begin_expecting(); }
  void end_expecting() override { connection_.channels().end_expecting(); }

  SessionGroup& group_;
  const std::uint32_t index_;
  LossState loss_;
  SessionConnection connection_;
  DeviceIndices device_indices_;
  std::atomic<unsigned> sending_{0};
  TransferTable transfers_;
  PeerMeters peer_meters_;
  SinkTable<EventSink> events_;
  SinkTable<QueueSink> queues_;
  ReplyTable replies_;
  KernelText kernel_text_;
  LoadWatch loads_;
  InboxReader reader_;
};

}  // namespace remotecl
