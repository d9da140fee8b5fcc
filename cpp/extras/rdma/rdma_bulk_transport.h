#pragma once

#include <memory>

#include "extras/rdma/rdma_bulk_receiver.h"
#include "extras/rdma/rdma_bulk_sender.h"

namespace remotecl {

// Bulk data whose bytes the sender's device writes to their destination while there is a channel. The stream beside it
// carries all headers, and the bytes too while there is none: before the first channel, and after the loss of one.
// Bytes that a lost channel may not have delivered are sent again over the stream, and the receiver takes what it still
// needs.
class RdmaBulkTransport final : public BulkTransport {
 public:
  // `maker`: makes the slot's channels, and is kept as long as this lives; null: others do.
  RdmaBulkTransport(std::unique_ptr<BulkTransport> stream, std::shared_ptr<RdmaSlot> slot,
                    std::shared_ptr<void> maker = nullptr)
      : stream_(std::move(stream)),
        slot_(std::move(slot)),
        maker_(std::move(maker)),
        sender_(*stream_, *slot_),
        receiver_(*stream_, *slot_) {}
  ~RdmaBulkTransport() override { slot_->end(); }

  std::unique_ptr<MemoryRegistration> register_memory(MutableBytes memory) override;
  std::unique_ptr<MemoryRegistration> register_staging(MutableBytes memory) override;

  bool send(const BulkHeader& header, const BulkSource& bytes, Use use) override {
    return sender_.send(header, bytes, use);
  }
  // Each chunk costs a grant, and a transfer stays on the stream or the channel.
  bool may_alternate() const override { return false; }
  bool keeps_borrowed() const override { return stream_->keeps_borrowed(); }
  std::uint64_t bytes_sent() const override { return stream_->bytes_sent(); }
  std::uint64_t completed() const override { return sender_.completed(); }
  void reclaim(std::uint64_t position) override { sender_.reclaim(position); }
  void settle() override { sender_.settle(); }
  TransportKind sent_by() const override { return sender_.sent_by(); }

  bool announce(std::uint64_t transfer, const BulkDestination& to) override;
  void withdraw(std::uint64_t transfer) override;
  bool receive_header(BulkHeader& header) override { return receiver_.receive_header(header); }
  bool receive(const BulkDestination& to) override { return receiver_.receive(to); }
  std::ptrdiff_t try_receive_header(BulkHeader& header) override { return receiver_.try_receive_header(header); }
  std::ptrdiff_t try_receive(const BulkDestination& to) override { return receiver_.try_receive(to); }
  std::ptrdiff_t try_discard(std::size_t size) override { return receiver_.try_discard(size); }
  void await_briefly() override { receiver_.await_briefly(); }
  void report_received() override { receiver_.report_received(); }
  int wait_handle() const override { return receiver_.wait_handle(); }
  std::uint64_t bytes_received() const override { return stream_->bytes_received(); }
  TransportKind received_by() const override { return receiver_.received_by(); }
  RdmaState rdma() const override { return slot_->state(); }

  void shutdown() override;
  bool vanished() const override { return stream_->vanished(); }
  std::size_t streams() const override { return stream_->streams(); }
  // The largest size, because each piece has a destination and a completion of its own.
  std::size_t staging_piece() const override { return kBulkChunkMax; }

 private:
  const std::unique_ptr<BulkTransport> stream_;
  const std::shared_ptr<RdmaSlot> slot_;
  const std::shared_ptr<void> maker_;
  RdmaBulkSender sender_;
  RdmaBulkReceiver receiver_;
};

}  // namespace remotecl
