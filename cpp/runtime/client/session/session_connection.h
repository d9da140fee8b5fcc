#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/session/bulk_channels.h"
#include "runtime/client/session/control_writer.h"
#include "runtime/client/session/loss_state.h"
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/handshake/server_name.h"
#include "runtime/handshake/stream_pair.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// The connections of one session: how they are made, made again, and given back when the session is lost. Owned by the
// session; any thread where nothing else is said.
class SessionConnection {
 public:
  // Connects and receives the devices. Throws ConnectionError.
  SessionConnection(const ServerName& server, ChannelSession& session, const LossState& loss);
  ~SessionConnection();
  SessionConnection(const SessionConnection&) = delete;
  SessionConnection& operator=(const SessionConnection&) = delete;

  const Address& address() const { return address_; }
  // The same without names: another machine may not know them.
  const Address& numeric_address() const { return numeric_address_; }
  // Of the server, as shown by TLS; empty: there is none.
  const std::optional<KeyPin>& key() const { return key_; }
  const Welcome& welcome() const { return welcome_; }  // what the server said first
  // The first message of the session.
  Bytes device_list() const { return {device_list_.data(), device_list_.size()}; }
  std::chrono::milliseconds window() const { return window_; }

  // The write side of the control connection.
  ControlWriter& writer() const { return *writer_; }
  std::shared_ptr<ControlWriter> shared_writer() const { return writer_; }
  BulkChannels& channels() { return channels_; }
  const BulkChannels& channels() const { return channels_; }
  // Whether a broken connection is made again.
  bool is_resumable() const { return streams_.control() != nullptr; }
  // Whether as much is kept for a server that cannot be reached as may be.
  bool is_crowded() const {
    ResumableConnection* const control = streams_.control();
    return control != nullptr && control->crowded();
  }

  // By the thread that reads, before release(): for poll().
  int wait_handle() const { return control_->wait_handle(); }
  // By the thread that reads: takes what has arrived, and calls handle(code, payload) for each message. False at the
  // end of the connection.
  template <class Handle>
  bool read_control(Handle&& handle) {
    const MutableBytes space = inbox_.space();
    const std::ptrdiff_t count = control_->try_read_some(space);
    if (count <= 0) return count < 0;
    inbox_.commit(static_cast<std::size_t>(count));
    std::uint16_t code = 0;
    Bytes payload;
    for (;;) {
      const auto next = inbox_.next(code, payload);
      if (next == MessageBuffer::Next::kNeedMore) return true;
      if (next == MessageBuffer::Next::kBroken) return false;
      messages_received_.fetch_add(1, std::memory_order_relaxed);
      handle(code, payload);
    }
  }
  // By the thread that reads: why the connection has ended.
  std::string control_end() const { return end_of(control_->vanished(), "connection"); }
  std::string end_of(const BulkChannel& channel) const {
    return end_of(channel.transport().vanished(), "bulk connection");
  }
  // Whether the server may still say why it has ended the session.
  bool may_give_reason() const { return is_resumable() && !reconnector_->found_nobody(); }

  // The server says what it has received. False when that cannot be.
  bool acknowledged(const ServerReceived& report);

  // From now on the end of a connection is that of its stream.
  void end_when_broken() EXCLUDES(mutex_);
  // The session is lost: nothing moves any more.
  void shutdown();
  // After that, when nobody reads any more: waits for those who still write, and lets go of connections and
  // descriptors.
  void release() EXCLUDES(mutex_);
  Traffic traffic() const EXCLUDES(mutex_);

 private:
  void connect(const ServerName& server);
  std::unique_ptr<Connection> make_stream(std::shared_ptr<Connection> carrier);
  void acknowledge(std::uint64_t received);
  void receive_device_list();
  std::string end_of(bool has_vanished, const std::string& name) const;
  Traffic traffic_so_far() const;

  const Address address_;
  Address numeric_address_;
  std::optional<KeyPin> key_;
  const std::chrono::milliseconds window_;  // how long it is tried to connect again
  const Dialer dialer_;
  const LossState& loss_;
  StreamPair streams_;  // the channels have their own
  std::shared_ptr<Connection> control_;
  std::shared_ptr<ControlWriter> writer_;
  BulkChannels channels_;
  std::unique_ptr<Reconnector> reconnector_;
  std::vector<int> given_up_in_forks_;
  Welcome welcome_{};
  std::vector<std::byte> device_list_;

  MessageBuffer inbox_;  // of the thread that reads
  std::atomic<std::uint64_t> messages_received_{0};

  mutable Mutex mutex_;
  bool is_released_ GUARDED_BY(mutex_) = false;  // the connections are not to be used any more
  Traffic last_traffic_ GUARDED_BY(mutex_);      // then
};

}  // namespace remotecl
