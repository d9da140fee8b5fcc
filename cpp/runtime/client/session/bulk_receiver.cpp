#include "runtime/client/session/bulk_receiver.h"

#include <algorithm>
#include <utility>

#include "runtime/protocol/frames.h"

namespace remotecl {

bool BulkReceiver::read() {
  for (std::uint64_t taken = 0; taken < kTurn || session_.has_one_channel();) {
    if (chunk_left_ == 0) {
      BulkHeader header{};
      const std::ptrdiff_t count = transport_->try_receive_header(header);
      acknowledge();
      if (count <= 0) return count < 0;
      if (header.size == 0 && header.status < 0) {
        note_failure(header.transfer);
        continue;
      }
      if (!begin_chunk(header)) return false;
    }
    transport_->await_briefly();
    bool is_complete = false;
    const std::ptrdiff_t count = read_piece(is_complete);
    if (count > 0 && is_complete) transport_->report_received();
    acknowledge();
    if (count <= 0) return count < 0;
    taken += static_cast<std::uint64_t>(count);
    if (!is_complete) continue;
    transfers_.fetch_add(1, std::memory_order_relaxed);
    release_memory();
    session_.end_transfer(transfer_, CL_COMPLETE);
    unpacker_.release();
    transfer_.reset();
    return true;  // a waiting thread can continue
  }
  return true;
}

// CommandFailed comes on another connection, possibly long before the bytes that were sent ahead of it.
void BulkReceiver::expect_rest(const TransferRef& failed) {
  const MutexLock lock(failed_mutex_);
  if (failed_.size() == kFailedMax) failed_.pop_front();
  failed_.push_back(failed);
}

void BulkReceiver::forget_failed(TransferId id) {
  const MutexLock lock(failed_mutex_);
  std::erase_if(failed_, [id](const TransferRef& failed) { return failed->id == id; });
}

// Returns a receive on this channel, which may have failed, or null if there is none with this id.
TransferRef BulkReceiver::find_transfer(TransferId id) {
  TransferRef transfer = session_.find_receive(id);
  if (transfer) return transfer->channel == &channel_ ? transfer : nullptr;
  const MutexLock lock(failed_mutex_);
  const auto at = std::find_if(failed_.begin(), failed_.end(), [id](const TransferRef& t) { return t->id == id; });
  return at == failed_.end() ? nullptr : *at;
}

// Nothing more follows of a failed transfer. CommandFailed reports the failure itself.
void BulkReceiver::note_failure(TransferId id) {
  const TransferRef transfer = find_transfer(id);
  if (!transfer) return;
  const MutexLock lock(transfer->mutex);
  transfer->received.has_no_more = true;
  forget_failed(id);
}

// The server may be malicious: what it announces must fit what was requested.
bool BulkReceiver::begin_chunk(const BulkHeader& header) {
  transfer_ = find_transfer(header.transfer);
  if (!transfer_) return false;
  bool has_memory = true;
  {
    const MutexLock lock(transfer_->mutex);
    if (transfer_->received.has_no_more || header.size == 0) return false;
    if (header.size > transfer_->size - transfer_->received.announced) return false;
    transfer_->received.announced += header.size;
    chunk_left_ = header.size;
    if (!transfer_->is_over) has_memory = prepare_memory(header.size);
    if (transfer_->received.announced == transfer_->size) forget_failed(header.transfer);
  }
  if (!has_memory) {
    session_.end_transfer(transfer_, CL_OUT_OF_HOST_MEMORY);  // so its bytes are discarded
    session_.wake();
  }
  return true;
}

// Returns false if there is no memory for packed rows.
bool BulkReceiver::prepare_memory(std::uint64_t size) {
  if (transfer_->rows && !unpacker_.begin(size)) return false;
  if (transfer_->received.announced == size && !transfer_->rows && !transfer_->may_be_short) announce_whole();
  if (transfer_->received.registration != nullptr) return true;
  const MutableBytes memory =
      transfer_->rows ? unpacker_.piece() : MutableBytes(transfer_->memory + transfer_->moved, size);
  registration_ = transport_->register_memory(memory);
  return true;
}

// With the first chunk, so that the other chunks come without waiting for their destinations.
void BulkReceiver::announce_whole() {
  const MutableBytes whole(transfer_->memory, transfer_->size);
  auto registration = transport_->register_memory(whole);
  if (registration == nullptr || !transport_->announce(transfer_->id, {whole, registration.get()})) return;
  transfer_->received.registration = std::move(registration);
}

// The transfer is complete. What the stream has carried was announced in vain.
void BulkReceiver::release_memory() {
  registration_.reset();
  std::unique_ptr<MemoryRegistration> whole;
  {
    const MutexLock lock(transfer_->mutex);
    whole = std::move(transfer_->received.registration);
  }
  if (whole != nullptr) transport_->withdraw(transfer_->id);
}

// Like try_read_some(), for the chunk being read. If the command fails in the middle of the chunk, the memory
// belongs to the application again and the rest is discarded.
std::ptrdiff_t BulkReceiver::read_piece(bool& is_complete) {
  const MutexLock lock(transfer_->mutex);
  const bool is_wanted = !transfer_->is_over;
  const bool unpacks = is_wanted && transfer_->rows;
  const MutableBytes to =
      unpacks ? unpacker_.next(chunk_left_) : MutableBytes(transfer_->memory + transfer_->moved, chunk_left_);
  const auto& registration =
      transfer_->received.registration != nullptr ? transfer_->received.registration : registration_;
  const bool is_traced = transfer_->trace.record != 0;
  const std::uint64_t spared_before = is_traced ? transport_->compression().received_less() : 0;
  const std::ptrdiff_t count =
      is_wanted ? transport_->try_receive({to, registration.get()}) : transport_->try_discard(chunk_left_);
  if (is_traced) transfer_->trace.spared += transport_->compression().received_less() - spared_before;
  if (count <= 0) return count;
  if (unpacks) unpacker_.unpack(*transfer_, static_cast<std::size_t>(count));
  transfer_->advance(static_cast<std::uint64_t>(count));
  chunk_left_ -= static_cast<std::uint64_t>(count);
  is_complete = is_wanted && transfer_->moved == transfer_->size;
  return count;
}

// Not called where the stream requests it, because a transfer's lock may be held there and this writes.
void BulkReceiver::acknowledge() {
  if (!std::exchange(is_acknowledge_due_, false)) return;
  session_.acknowledge(ClientReceived{StreamKind::kBulk, number_, acknowledged_bytes_});
}

}  // namespace remotecl
