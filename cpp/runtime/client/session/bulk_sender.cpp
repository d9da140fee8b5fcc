#include "runtime/client/session/bulk_sender.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/client/session/trace_sink.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// A transport that has ended keeps what it has borrowed until release().
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Reports to the trace at the last chunk, so before the server reports the command's end.
void note_spared(ClientTransfer& transfer, std::uint64_t bytes) {
  transfer.trace.spared += bytes;
  TraceSink* const trace = TraceSink::current();
  if (transfer.moved < transfer.size || transfer.trace.spared == 0 || trace == nullptr) return;
  trace->crossed(transfer.trace.record, transfer.size - transfer.trace.spared);
}

}  // namespace

void BulkSender::use(BulkTransport& transport) {
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(borrowed_mutex_);
  transport_ = borrower_ = &transport;
  borrows_ = transport.keeps_borrowed();
  may_alternate_ = transport.may_alternate();
}

// Copied bytes let the caller continue without the server. All others are borrowed from it until the server has
// received them.
bool BulkSender::send(const TransferRef& transfer, Others others) {
  if (transfer->offer != nullptr) return send_offered(transfer, others);
  Sending sending{transfer, borrows_ && !transfer->is_copied, others};
  RowPacker* packer = nullptr;  // there until the last chunk is sent
  if (transfer->rows) {
    sending.packer = RowPacker::make(*transfer->rows, transfer->memory);
    packer = sending.packer.get();
    if (packer == nullptr) {
      fail(transfer);
      return true;
    }
  }
  const MutableBytes memory = packer != nullptr ? packer->pieces() : MutableBytes(transfer->memory, transfer->size);
  // Copied bytes need none, and pushed ones go without RDMA.
  if (sending.borrows && !transfer->is_pushed) sending.registration = register_memory(memory);
  bool ok = true;
  while (ok && transfer->moved < transfer->size) {
    ok = send_piece(sending, next_piece(*transfer, packer));
    if (sending.packer != nullptr && sending.borrows) packer->note_borrowed(sending.end);
  }
  return finish(transfer, ok, sending.borrows);
}

// Sends contiguous bytes in chunks, or as one chunk if they are pushed.
bool BulkSender::send_piece(Sending& sending, Bytes bytes) {
  const ClientTransfer& transfer = *sending.transfer;
  for (;;) {
    const std::size_t size_max = chunk_size();
    const std::size_t size = transfer.is_pushed ? bytes.size() : std::min(bytes.size(), size_max);
    {
      // On a thin link threads take turns with each chunk. On other links that would cost wake-ups, so only short sends
      // get a turn.
      std::optional<ChunkTurns::Turn> turn;
      if (size_max < kBulkChunkMax || short_turns_ > 0) turn.emplace(turns_);
      const MutexLock lock(write_mutex_);
      if (!send_chunk(sending, bytes.first(size), transfer.is_pushed ? kPushedChunk : 0, size)) return false;
    }
    if (may_alternate_ && sending.others == Others::kMayPass) let_pass(sending, size);
    if (size == bytes.size()) return true;
    bytes = bytes.subspan(size);
  }
}

// `size`: how much of the transfer the bytes stand for, which may be more than they are. Once all is sent, or the
// transport has ended, notes what the transport has borrowed.
bool BulkSender::send_chunk(Sending& sending, Bytes bytes, std::int32_t status, std::uint64_t size) {
  ClientTransfer& transfer = *sending.transfer;
  const auto use = sending.borrows && !bytes.empty() ? BulkTransport::Use::kBorrowed : BulkTransport::Use::kCopied;
  SourceOwner* const owner = sending.packer != nullptr ? nullptr : &transfer;
  const BulkHeader header{transfer.id, static_cast<std::uint32_t>(bytes.size()), status};
  const bool is_traced = transfer.trace.record != 0 && transport_ != nullptr;
  const std::uint64_t spared_before = is_traced ? transport_->compression().sent_less() : 0;
  const bool ok = transport_ != nullptr && transport_->send(header, {bytes, sending.registration.get(), owner}, use);
  transfer.advance(size);
  if (is_traced && ok) {
    note_spared(transfer, size - bytes.size() + transport_->compression().sent_less() - spared_before);
  }
  if (!sending.borrows || transport_ == nullptr) return ok;
  sending.end = transport_->bytes_sent();
  if (ok && transfer.moved < transfer.size) return true;
  const MutexLock lock(borrowed_mutex_);
  borrowed_.push_back(
      {ok ? sending.end : kNever, sending.transfer, std::move(sending.registration), std::move(sending.packer)});
  return ok;
}

std::size_t BulkSender::chunk_size() const {
  const MutexLock lock(borrowed_mutex_);
  return borrower_ != nullptr ? borrower_->chunk_size() : kBulkChunkMax;
}

// Sends queued transfers that may pass this one now. `sent`: bytes of this one that have left since others last could.
void BulkSender::let_pass(Sending& sending, std::uint64_t sent) {
  sending.rule.sent(sent);
  const std::uint64_t left = sending.transfer->size - sending.transfer->moved;
  while (const TransferRef passing = take_passing(sending.rule, left)) {
    sending.rule.passed(passing->size);
    send(passing, Others::kWait);
  }
}

// Null if none may pass now.
TransferRef BulkSender::take_passing(const PassingRule& rule, std::uint64_t left) {
  if (!rule.may_any_pass(left)) return nullptr;
  const MutexLock lock(thread_.mutex);
  const auto at =
      std::ranges::find_if(queue_, [&](const TransferRef& each) { return rule.may_pass(each->size, left); });
  if (thread_.is_stopping() || at == queue_.end()) return nullptr;
  TransferRef transfer = std::move(*at);
  queue_.erase(at);
  return transfer;
}

bool BulkSender::finish(const TransferRef& transfer, bool is_sent, bool is_borrowed) {
  if (is_borrowed && is_sent) {
    const ShortTurn turn(*this);
    if (transport_ != nullptr) transport_->settle();
  }
  if (is_sent) transfers_.fetch_add(1, std::memory_order_relaxed);
  if (!is_borrowed || !is_sent) {
    session_.end_transfer(transfer, is_sent ? CL_COMPLETE : CL_DEVICE_NOT_AVAILABLE);
    session_.wake();
    return is_sent;
  }
  if (end_received()) session_.wake();  // another thread may wait for what has ended here
  return !transfer->sender_waits || session_.await(*transfer);
}

// Returns true without having sent all if it must be called again when the server has answered.
bool BulkSender::send_offered(const TransferRef& transfer, Others others) {
  UploadOffer& offered = *transfer->offer;
  Sending sending{transfer, borrows_, others};
  bool ok = true;
  note_delivered(offered);
  while (ok && transfer->moved < transfer->size) {
    const UploadOffer::Step step = offered.next();
    if (step.action == UploadOffer::Action::kOffer) {
      ok = offer(transfer, step);
    } else if (step.action != UploadOffer::Action::kAwait) {
      ok = send_part(sending, step);
    } else if (!transfer->sender_waits) {
      return true;
    } else {
      ok = session_.await_reply(*transfer) && !transfer->ended();
    }
  }
  ok = finish(transfer, ok, borrows_);
  note_delivered(offered);  // with the time until all has arrived, if the thread has waited for that
  return ok;
}

// Counts bytes as they were before compression, because hashing is compared with that.
void BulkSender::note_delivered(UploadOffer& offered) {
  const MutexLock lock(borrowed_mutex_);
  if (borrower_ == nullptr) return;
  Connection::Delivered now = borrower_->delivered();
  now.bytes += borrower_->compression().sent_less();
  offered.delivered(now);
}

// The application's memory may be gone once the transfer is over.
bool BulkSender::offer(const TransferRef& transfer, const UploadOffer::Step& chunks) {
  std::vector<std::byte> digests;
  for (std::uint64_t at = chunks.offset; at < chunks.offset + chunks.size; at += kUploadChunk) {
    const MutexLock lock(transfer->mutex);
    if (transfer->is_over) return false;
    transfer->offer->add_digest(at, digests);
  }
  session_.offer({transfer->id, chunks.offset, digests});
  return true;
}

bool BulkSender::send_part(Sending& sending, const UploadOffer::Step& part) {
  ClientTransfer& transfer = *sending.transfer;
  const bool is_there = part.action == UploadOffer::Action::kSkip;
  bool ok = false;
  if (is_there) {
    const ShortTurn turn(*this);
    ok = send_chunk(sending, {}, kStoredChunk, part.size);
    session_.found(part.size);
  } else {
    ok = send_piece(sending, {transfer.memory + part.offset, part.size});
  }
  note_delivered(*transfer.offer);
  return ok;
}

std::unique_ptr<MemoryRegistration> BulkSender::register_memory(MutableBytes memory) {
  const ShortTurn turn(*this);
  return transport_ != nullptr ? transport_->register_memory(memory) : nullptr;
}

// Waits until the transport has given back the memory of the next piece. Nothing is read from the
// application's memory once the transfer is over, because it may be gone.
Bytes BulkSender::next_piece(ClientTransfer& transfer, RowPacker* packer) {
  if (packer == nullptr) {
    const std::uint64_t left = transfer.size - transfer.moved;
    return {transfer.memory + transfer.moved, std::min<std::uint64_t>(left, kBulkChunkMax)};
  }
  reclaim(packer->borrowed_until());
  const MutexLock lock(transfer.mutex);
  return transfer.is_over ? packer->next_blank(transfer.moved) : packer->next(transfer.moved);
}

// The transport may copy whatever it has borrowed before that position, also of earlier transfers. So none of these
// ends meanwhile, because its memory would then be gone.
void BulkSender::reclaim(std::uint64_t position) {
  {
    const ShortTurn turn(*this);
    if (transport_ == nullptr || transport_->completed() >= position) return;
    keep_borrowed(true);
    transport_->reclaim(position);
    keep_borrowed(false);
  }
  if (end_received()) session_.wake();
}

void BulkSender::keep_borrowed(bool is_kept) {
  const MutexLock lock(borrowed_mutex_);
  is_kept_ = is_kept;
}

// There is no memory or thread to send it. The server waits for the bytes of a pulled transfer.
void BulkSender::fail(const TransferRef& transfer) {
  {
    const ShortTurn turn(*this);
    if (transport_ != nullptr) transport_->send_failure(transfer->id, CL_OUT_OF_HOST_MEMORY);
  }
  session_.end_transfer(transfer, CL_OUT_OF_HOST_MEMORY);
  session_.wake();
}

void BulkSender::withdraw(TransferId transfer) {
  const MutexLock lock(borrowed_mutex_);
  if (borrower_ != nullptr) borrower_->withdraw(transfer);
}

bool BulkSender::end_received() {
  std::vector<TransferRef> received;
  {
    const MutexLock lock(borrowed_mutex_);
    while (borrower_ != nullptr && !is_kept_ && !borrowed_.empty() && borrowed_.front().end <= borrower_->completed()) {
      received.push_back(std::move(borrowed_.front().transfer));
      borrowed_.pop_front();
    }
  }
  for (const TransferRef& transfer : received) session_.end_transfer(transfer, CL_COMPLETE);
  return !received.empty();
}

void BulkSender::post(TransferRef transfer) {
  {
    const MutexLock lock(thread_.mutex);
    try {
      thread_.start();
      queue_.push_back(std::move(transfer));
      return thread_.wake();
    } catch (const std::system_error&) {  // the thread could not be started
    }
  }
  if (transfer->is_pushed) {
    send(transfer);  // the server has been promised the bytes
  } else {
    fail(transfer);
  }
}

void BulkSender::run() {
  for (;;) {
    TransferRef transfer;
    {
      const MutexLock lock(thread_.mutex);
      while (!thread_.is_stopping() && queue_.empty()) thread_.wait();
      if (thread_.is_stopping()) return;
      transfer = std::move(queue_.front());
      queue_.pop_front();
    }
    send(transfer);
  }
}

std::deque<BulkSender::Borrowed> BulkSender::release() {
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(borrowed_mutex_);
  transport_ = borrower_ = nullptr;
  return std::exchange(borrowed_, {});
}

}  // namespace remotecl
