#pragma once

#include <array>
#include <deque>
#include <optional>

#include "extras/rdma/rdma_slot.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/threads/wait_policy.h"

namespace remotecl {

// The receiving side of RdmaBulkTransport. The stream has the headers of all chunks, and says where the bytes of each
// are: behind it, in the channel, or again in the stream because the channel was lost. Used by the receiving thread.
class RdmaBulkReceiver {
 public:
  // Both outlive it.
  RdmaBulkReceiver(BulkTransport& stream, RdmaSlot& slot);
  ~RdmaBulkReceiver();
  RdmaBulkReceiver(const RdmaBulkReceiver&) = delete;
  RdmaBulkReceiver& operator=(const RdmaBulkReceiver&) = delete;

  bool receive_header(BulkHeader& header);
  bool receive(const BulkDestination& to);
  std::ptrdiff_t try_receive_header(BulkHeader& header);
  std::ptrdiff_t try_receive(const BulkDestination& to) { return try_take(to, to.bytes.size(), true); }
  std::ptrdiff_t try_discard(std::size_t size) { return try_take({}, size, false); }
  void await_briefly();
  void report_received();
  int wait_handle() const;
  TransportKind received_by() const {
    return chunk_source_ == ChunkSource::kChannel ? TransportKind::kRdma : stream_.received_by();
  }

 private:
  // Where the bytes of the present chunk are.
  enum class ChunkSource { kStream, kChannel, kResent };

  bool begin(const BulkHeader& header, BulkHeader& shown);
  std::ptrdiff_t try_take(const BulkDestination& to, std::size_t size, bool is_wanted);
  std::ptrdiff_t try_take_from_stream(const BulkDestination& to, std::size_t size, bool is_wanted);
  std::ptrdiff_t try_take_from_channel(const BulkDestination& to, std::size_t size, bool is_wanted);
  std::ptrdiff_t try_next_header(BulkHeader& header);
  std::ptrdiff_t try_read_ahead();
  std::ptrdiff_t try_drop();
  bool accept_resent(const BulkHeader& header);
  std::ptrdiff_t fail();
  RdmaChannel* channel_of_chunk();
  void leave_channel();
  bool is_in_channel() const { return chunk_source_ == ChunkSource::kChannel && taken_ < chunk_.size; }
  void await_something();

  BulkTransport& stream_;
  RdmaSlot& slot_;
  std::deque<BulkHeader> ahead_;    // headers that were read while bytes of an earlier chunk were missing
  std::optional<BulkHeader> held_;  // the last of them, if its bytes follow in the stream
  BulkHeader chunk_{};
  ChunkSource chunk_source_ = ChunkSource::kStream;
  std::size_t taken_ = 0;          // of the chunk
  std::size_t to_drop_ = 0;        // bytes of the stream that have been received by RDMA already
  std::uint32_t next_number_ = 0;  // of the present chunk of the channel, or else the next one
  RdmaSlot::Entry in_use_;
  bool is_expected_ = false;  // the channel knows about the chunk
  bool is_idle_ = false;      // the last attempt has found nothing
  WaitPolicy spin_;
  const int handles_;  // epoll: the stream, the channel, the slot
  // The descriptors of the channel and of the stream that handles_ watches, besides the slot's.
  mutable std::array<int, 2> watched_{-1, -1};
  mutable std::uint32_t watched_number_ = 0;  // of that channel
  Wakeup ready_;                              // always readable
};

}  // namespace remotecl
