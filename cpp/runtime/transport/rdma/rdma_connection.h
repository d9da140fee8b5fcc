#pragma once

#include <memory>

#include "runtime/transport/connection.h"
#include "runtime/transport/rdma/rdma_channel.h"

namespace remotecl {

// The stream of bytes of a channel. Ends the channel.
class RdmaConnection final : public Connection {
 public:
  explicit RdmaConnection(std::shared_ptr<RdmaChannel> channel) : channel_(std::move(channel)) {}
  ~RdmaConnection() override { RdmaConnection::shutdown(); }

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  void await_briefly() override { channel_->await_bytes_briefly(); }
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  int wait_handle() const override { return channel_->stream_wait_handle(); }
  void await_writable(std::chrono::milliseconds time) override { channel_->await_writable(time); }
  void set_read_timeout(std::chrono::milliseconds timeout) override { read_timeout_ = timeout; }
  // What was written before arrives, unless that takes long.
  void shutdown() override;
  bool vanished() const override { return channel_->vanished(); }
  TransportKind kind() const override { return TransportKind::kRdma; }

 private:
  const std::shared_ptr<RdmaChannel> channel_;
  std::atomic<std::chrono::milliseconds> read_timeout_{std::chrono::milliseconds(0)};
};

}  // namespace remotecl
