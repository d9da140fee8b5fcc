#include "extras/rdma/rdma_bulk_sender.h"

#include <algorithm>

#include "extras/rdma/rdma_chunks.h"
#include "extras/rdma/rdma_registration.h"

namespace remotecl {

// A transfer stays where it is unless the channel is lost: its receiver closes the destination for RDMA when bytes of
// it come by the stream.
bool RdmaBulkSender::goes_by_rdma(const BulkHeader& header, const BulkSource& bytes) const {
  if (header.status != 0 || bytes.bytes.empty() || header.transfer == transfer_by_stream_) return false;
  return bytes.bytes.size() >= rdma::kChunkMin || header.transfer == transfer_by_rdma_;
}

bool RdmaBulkSender::send(const BulkHeader& header, const BulkSource& bytes, Use use) {
  if (goes_by_rdma(header, bytes)) {
    const RdmaSlot::Entry entry = slot_.get();
    if (entry.channel != in_use_.channel) {
      if (!deliver(kNever)) return false;
      in_use_ = entry;
    }
    if (in_use_.channel != nullptr) return send_by_rdma(header, bytes, use);
  }
  // What follows a chunk in the stream must not come before a repetition of that chunk.
  return deliver(kNever) && send_by_stream(header, bytes, use);
}

bool RdmaBulkSender::send_by_stream(const BulkHeader& header, const BulkSource& bytes, Use use) {
  transfer_by_stream_ = header.transfer;
  was_by_rdma_ = false;
  if (!stream_.send(header, bytes, use)) return false;
  if (use == Use::kBorrowed) borrowed_until_ = stream_.bytes_sent();
  return true;
}

bool RdmaBulkSender::send_by_rdma(const BulkHeader& header, const BulkSource& bytes, Use use) {
  if (undelivered_.size() == rdma::kChunksAheadMax && !deliver(undelivered_.front().position)) return false;
  if (undelivered_.empty()) held_back_ = stream_.bytes_sent();
  is_unsettled_ = true;
  transfer_by_rdma_ = header.transfer;
  was_by_rdma_ = true;
  const BulkHeader announced{header.transfer, header.size, chunk_status(kRdmaChunk, in_use_.number)};
  slot_.note_system_call();
  if (!stream_.send(announced, {}, Use::kCopied)) return false;
  undelivered_.push_back({header, bytes, use, next_number_++, stream_.bytes_sent(), kNever});
  const RdmaSource source{bytes.bytes, RdmaRegistration::of(bytes.registration, in_use_.channel)};
  if (!in_use_.channel->send(header.transfer, source, RdmaChannel::Use::kBorrowed)) return deliver(kNever);
  undelivered_.back().until = in_use_.channel->bytes_sent();
  forget_delivered();
  return use == Use::kBorrowed || deliver(kNever);
}

// Waits until the chunks before the position are delivered, or sends them again.
bool RdmaBulkSender::deliver(std::uint64_t position) {
  std::uint64_t until = 0;
  bool is_sent = true;
  for (const Undelivered& chunk : undelivered_) {
    if (chunk.position > position) break;
    is_sent = chunk.until != kNever;
    if (is_sent) until = chunk.until;
  }
  if (undelivered_.empty() || undelivered_.front().position > position) return true;
  in_use_.channel->reclaim(until);
  forget_delivered();
  if (is_sent && (undelivered_.empty() || undelivered_.front().position > position)) return true;
  return resend();
}

void RdmaBulkSender::forget_delivered() {
  while (!undelivered_.empty() && undelivered_.front().until <= in_use_.channel->delivered()) undelivered_.pop_front();
  held_back_ = undelivered_.empty() ? kNever : undelivered_.front().position - 1;
}

// The channel is lost. The receiver has got all chunks before these, and drops what it has got of these.
bool RdmaBulkSender::resend() {
  slot_.drop(in_use_.channel);
  in_use_.channel->reclaim(in_use_.channel->bytes_sent());  // the device no longer reads the bytes
  in_use_.channel = nullptr;
  bool is_good = true;
  for (const Undelivered& chunk : undelivered_) {
    BulkHeader header = chunk.header;
    header.status = chunk_status(kResentChunk, chunk.number);
    is_good = is_good && send_by_stream(header, chunk.bytes, chunk.use);
  }
  undelivered_.clear();
  held_back_ = kNever;
  return is_good;
}

std::uint64_t RdmaBulkSender::completed() const {
  return std::max(std::min(stream_.completed(), held_back_.load()), reclaimed_.load());
}

void RdmaBulkSender::reclaim(std::uint64_t position) {
  if (!deliver(position)) return;
  const std::uint64_t borrowed = std::min(position, borrowed_until_);
  if (stream_.completed() < borrowed) stream_.reclaim(borrowed);
  if (reclaimed_ < position) reclaimed_ = position;
}

void RdmaBulkSender::settle() {
  if (is_unsettled_) reclaim(stream_.bytes_sent());
  is_unsettled_ = false;
}

}  // namespace remotecl
