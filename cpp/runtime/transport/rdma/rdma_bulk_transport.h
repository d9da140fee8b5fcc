#pragma once

#include <memory>

#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/rdma/rdma_channel.h"

namespace remotecl {

// Bulk data over a channel: the sender's device writes it to the destination that the receiver has announced.
class RdmaBulkTransport final : public BulkTransport {
 public:
  explicit RdmaBulkTransport(std::unique_ptr<RdmaChannel> channel) : channel_(std::move(channel)) {}

  std::unique_ptr<MemoryRegistration> register_memory(MutableBytes memory) override;

  bool send(const BulkHeader& header, const BulkSource& bytes, Use use) override;
  bool keeps_lent() const override { return true; }
  std::uint64_t bytes_sent() const override { return channel_->bytes_sent(); }
  std::uint64_t completed() const override { return channel_->completed(); }
  void reclaim(std::uint64_t position) override { channel_->reclaim(position); }

  void announce(std::uint64_t transfer, const BulkDestination& to) override;
  bool receive_header(BulkHeader& header) override;
  bool receive(const BulkDestination& to) override;
  std::ptrdiff_t try_receive_header(BulkHeader& header) override;
  std::ptrdiff_t try_receive(const BulkDestination& to) override;
  std::ptrdiff_t try_discard(std::size_t size) override { return channel_->try_discard(size); }
  void report_received() override {}
  int wait_handle() const override { return channel_->wait_handle(); }
  std::uint64_t bytes_received() const override { return channel_->bytes_received(); }

  void shutdown() override { channel_->shutdown(); }
  bool vanished() const override { return false; }
  std::size_t streams() const override { return 1; }

 private:
  const std::unique_ptr<RdmaChannel> channel_;
};

}  // namespace remotecl
