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

// The connections of one session: makes them, reconnects them, and releases them when the session is lost.
// Owned by the session. Any thread, unless noted otherwise.
class SessionConnection {
 public:
  // Connects and receives the devices. Throws ConnectionError.
  SessionConnection(const ServerName& server, ChannelSession& session, Submitter& submitter, const LossState& loss);
  ~SessionConnection();
  SessionConnection(const SessionConnection&) = delete;
  SessionConnection& operator=(const SessionConnection&) = delete;

  const Address& address() const { return address_; }
  // The same without names, which another machine may be unable to resolve.
  const Address& numeric_address() const { return numeric_address_; }
  // The server's key, as shown by TLS; empty without TLS.
  const std::optional<KeyPin>& key() const { return key_; }
  const Welcome& welcome() const { return welcome_; }  // the server's part of the handshake
  // The first message of the session.
  Bytes device_list() const { return {device_list_.data(), device_list_.size()}; }
  std::chrono::milliseconds window() const { return window_; }

  // The write side of the control connection.
  ControlWriter& writer() const { return *writer_; }
  std::shared_ptr<ControlWriter> shared_writer() const { return writer_; }
  BulkChannels& channels() { return channels_; }
  const BulkChannels& channels() const { return channels_; }
  // Returns true if a broken connection is made again.
  bool is_resumable() const { return streams_.control() != nullptr; }
  // Returns true if as much as allowed is kept for a server that cannot be reached.
  bool is_crowded() const {
    ResumableConnection* const control = streams_.control();
    return control != nullptr && control->crowded();
  }

  // For poll(), on the reading thread, before release().
  int wait_handle() const { return control_->wait_handle(); }
  // On the reading thread: reads what has arrived and calls handle(code, payload) for each message. Returns
  // false if the connection has ended.
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
  // On the reading thread: why the connection has ended.
  std::string control_end() const { return end_of(control_->vanished(), "connection"); }
  std::string end_of(const BulkChannel& channel) const {
    return end_of(channel.transport().vanished(), "bulk connection");
  }
  // Why this side has given up one of its streams; empty if it has not. On the reading thread.
  std::string own_reason() const;
  // Returns true if the server may still report why it has ended the session.
  bool may_give_reason() const { return is_resumable() && !reconnector_->found_nobody(); }

  // The server reports what it has received. Returns false if that is impossible.
  bool acknowledged(const ServerReceived& report);

  // From now on a broken connection ends its stream.
  void end_when_broken() EXCLUDES(mutex_);
  // The session is lost: stops all data.
  void shutdown();
  // After shutdown(), when reading has ended: waits for threads that still write, and releases connections
  // and descriptors.
  void release() EXCLUDES(mutex_);
  struct Counts {
    Traffic traffic;
    RdmaState rdma;
  };
  Counts counts() const EXCLUDES(mutex_);

 private:
  void connect(const ServerName& server, Submitter& submitter);
  std::unique_ptr<Connection> make_stream(std::shared_ptr<Connection> carrier);
  void acknowledge(std::uint64_t received);
  void receive_device_list();
  std::string end_of(bool has_vanished, const std::string& name) const;
  Counts counts_so_far() const;

  const Address address_;
  Address numeric_address_;
  std::optional<KeyPin> key_;
  const std::chrono::milliseconds window_;  // how long reconnecting is tried
  const Dialer dialer_;
  const LossState& loss_;
  StreamPair streams_;  // the control stream; the channels have their own
  std::shared_ptr<Connection> control_;
  std::shared_ptr<ControlWriter> writer_;
  std::unique_ptr<Reconnector> reconnector_;
  BulkChannels channels_;
  std::vector<int> given_up_in_forks_;
  Welcome welcome_{};
  std::vector<std::byte> device_list_;

  MessageBuffer inbox_;  // used by the reading thread
  std::atomic<std::uint64_t> messages_received_{0};

  mutable Mutex mutex_;
  bool is_released_ GUARDED_BY(mutex_) = false;  // the connections must not be used any more
  Counts last_counts_ GUARDED_BY(mutex_);        // at the release
};

}  // namespace remotecl
