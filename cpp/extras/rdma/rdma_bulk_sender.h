#pragma once

#include <atomic>
#include <deque>
#include <limits>

#include "extras/rdma/rdma_slot.h"
#include "runtime/transport/bulk/bulk_transport.h"

namespace remotecl {

// The sending side of RdmaBulkTransport. Keeps the chunks whose bytes the channel has not delivered, and sends
// them over the stream if the channel is lost. Used by the sending thread; completed() by any.
class RdmaBulkSender {
 public:
  using Use = BulkTransport::Use;

  // Both outlive it.
  RdmaBulkSender(BulkTransport& stream, RdmaSlot& slot) : stream_(stream), slot_(slot) {}

  bool send(const BulkHeader& header, const BulkSource& bytes, Use use);
  std::uint64_t completed() const;
  void reclaim(std::uint64_t position);
  void settle();
  TransportKind sent_by() const { return was_by_rdma_ ? TransportKind::kRdma : stream_.sent_by(); }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  struct Undelivered {
    BulkHeader header;
    BulkSource bytes;
    Use use;
    std::uint32_t number;    // among all chunks that were sent by RDMA
    std::uint64_t position;  // of the stream, after the header
    std::uint64_t until;     // of the channel, after the bytes; kNever: not all of them have been sent
  };

  bool goes_by_rdma(const BulkHeader& header, const BulkSource& bytes) const;
  bool send_by_rdma(const BulkHeader& header, const BulkSource& bytes, Use use);
  bool send_by_stream(const BulkHeader& header, const BulkSource& bytes, Use use);
  bool deliver(std::uint64_t position);
  void forget_delivered();
  bool resend();

  BulkTransport& stream_;
  RdmaSlot& slot_;
  RdmaSlot::Entry in_use_;
  std::deque<Undelivered> undelivered_;
  std::uint32_t next_number_ = 0;
  std::uint64_t transfer_by_rdma_ = 0;    // the last one
  std::uint64_t transfer_by_stream_ = 0;  // the last one; its receiver expects nothing of it by RDMA
  bool was_by_rdma_ = false;              // the last chunk
  std::uint64_t borrowed_until_ = 0;      // position of the stream after what it has borrowed
  bool is_unsettled_ = false;
  std::atomic<std::uint64_t> held_back_{kNever};  // position of the first undelivered chunk
  std::atomic<std::uint64_t> reclaimed_{0};
};

}  // namespace remotecl
