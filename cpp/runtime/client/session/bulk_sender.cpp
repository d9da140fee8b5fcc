#include "runtime/client/session/bulk_sender.h"

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// Where a transport has ended, it keeps what it has borrowed until release().
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void BulkSender::use(BulkTransport& transport) {
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(borrowed_mutex_);
  transport_ = &transport;
  borrows_ = transport.keeps_borrowed();
}

// Pushed bytes are copied, so that the caller can continue without the server. All other bytes are borrowed
// from the session until the server has received them.
bool BulkSender::send(const TransferRef& transfer) {
  if (transfer->offer != nullptr) return send_offered(transfer);
  const bool borrows = borrows_ && !transfer->is_pushed;
  const auto use = borrows ? BulkTransport::Use::kBorrowed : BulkTransport::Use::kCopied;
  const std::int32_t status = transfer->is_pushed ? kPushedChunk : 0;
  auto packer = transfer->rows ? RowPacker::make(*transfer->rows, transfer->memory) : nullptr;
  if (transfer->rows && packer == nullptr) {
    fail(transfer);
    return true;
  }
  const MutableBytes memory = packer ? packer->pieces() : MutableBytes(transfer->memory, transfer->size);
  auto registration = borrows ? register_memory(memory) : nullptr;  // copied bytes need none
  SourceOwner* const owner = packer ? nullptr : transfer.get();
  bool ok = true;
  while (ok && transfer->moved < transfer->size) {
    const Bytes bytes = next_chunk(*transfer, packer.get());
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const MutexLock lock(write_mutex_);
    ok = transport_ != nullptr &&
         transport_->send({transfer->id, size, status}, {bytes, registration.get(), owner}, use);
    transfer->advance(size);
    if (!borrows || transport_ == nullptr) continue;
    const std::uint64_t end = transport_->bytes_sent();
    if (packer) packer->note_borrowed(end);  // NOLINT(bugprone-use-after-move): the loop ends after the move
    if (ok && transfer->moved < transfer->size) continue;
    const MutexLock borrowed_lock(borrowed_mutex_);
    borrowed_.push_back({ok ? end : kNever, transfer, std::move(registration), std::move(packer)});
  }
  return finish(transfer, ok, borrows);
}

bool BulkSender::finish(const TransferRef& transfer, bool is_sent, bool is_borrowed) {
  if (is_borrowed && is_sent) {
    const MutexLock lock(write_mutex_);
    if (transport_ != nullptr) transport_->settle();
  }
  if (is_sent) transfers_.fetch_add(1, std::memory_order_relaxed);
  if (!is_borrowed || !is_sent) {
    session_.end_transfer(transfer, is_sent ? CL_COMPLETE : CL_DEVICE_NOT_AVAILABLE);
    return is_sent;
  }
  end_received();
  return !transfer->sender_waits || session_.await(*transfer);
}

// Returns true without having sent all if it must be called again when the server has answered.
bool BulkSender::send_offered(const TransferRef& transfer) {
  UploadOffer& offered = *transfer->offer;
  bool ok = true;
  while (ok && transfer->moved < transfer->size) {
    const UploadOffer::Step step = offered.next();
    if (step.action == UploadOffer::Action::kOffer) {
      ok = offer(transfer, step);
    } else if (step.action != UploadOffer::Action::kAwait) {
      ok = send_part(transfer, step);
    } else if (!transfer->sender_waits) {
      return true;
    } else {
      ok = session_.await_answer(*transfer) && !transfer->ended();
    }
  }
  if (ok) offered.finish();
  return finish(transfer, ok, borrows_);
}

// The application's memory may be gone once the transfer is over.
bool BulkSender::offer(const TransferRef& transfer, const UploadOffer::Step& chunks) {
  std::vector<std::byte> digests;
  for (std::uint64_t at = chunks.offset; at < chunks.offset + chunks.size; at += kUploadChunk) {
    const MutexLock lock(transfer->mutex);
    if (transfer->is_over) return false;
    transfer->offer->add_digest(at, digests);
  }
  session_.offer(*transfer, {transfer->id, chunks.offset, digests});
  return true;
}

bool BulkSender::send_part(const TransferRef& transfer, const UploadOffer::Step& part) {
  const bool is_there = part.action == UploadOffer::Action::kSkip;
  const auto use = borrows_ && !is_there ? BulkTransport::Use::kBorrowed : BulkTransport::Use::kCopied;
  const Bytes bytes = is_there ? Bytes() : Bytes(transfer->memory + part.offset, part.size);
  const BulkHeader header{transfer->id, static_cast<std::uint32_t>(bytes.size()), is_there ? kStoredChunk : 0};
  const MutexLock lock(write_mutex_);
  const bool ok = transport_ != nullptr && transport_->send(header, {bytes, nullptr, transfer.get()}, use);
  transfer->advance(part.size);
  if (is_there) session_.found(part.size);
  if (transport_ == nullptr) return false;
  transfer->offer->arrived(transport_->completed(), is_there);
  if (!borrows_ || (ok && transfer->moved < transfer->size)) return ok;
  const std::uint64_t end = ok ? transport_->bytes_sent() : kNever;
  const MutexLock borrowed_lock(borrowed_mutex_);
  borrowed_.push_back({end, transfer, nullptr, nullptr});
  return ok;
}

std::unique_ptr<MemoryRegistration> BulkSender::register_memory(MutableBytes memory) {
  const MutexLock lock(write_mutex_);
  return transport_ != nullptr ? transport_->register_memory(memory) : nullptr;
}

// Waits until the transport has given back the memory of the next piece. Nothing is read from the
// application's memory once the transfer is over, because it may be gone.
Bytes BulkSender::next_chunk(Transfer& transfer, RowPacker* packer) {
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
    const MutexLock lock(write_mutex_);
    if (transport_ == nullptr || transport_->completed() >= position) return;
    keep_borrowed(true);
    transport_->reclaim(position);
    keep_borrowed(false);
  }
  end_received();
  session_.wake();
}

void BulkSender::keep_borrowed(bool is_kept) {
  const MutexLock lock(borrowed_mutex_);
  is_kept_ = is_kept;
}

// There is no memory or thread to send it. The server waits for the bytes.
void BulkSender::fail(const TransferRef& transfer) {
  {
    const MutexLock lock(write_mutex_);
    if (transport_ != nullptr) transport_->send_failure(transfer->id, CL_OUT_OF_HOST_MEMORY);
  }
  session_.end_transfer(transfer, CL_OUT_OF_HOST_MEMORY);
}

void BulkSender::withdraw(TransferId transfer) {
  const MutexLock lock(borrowed_mutex_);
  if (transport_ != nullptr) transport_->withdraw(transfer);
}

void BulkSender::end_received() {
  std::vector<TransferRef> received;
  {
    const MutexLock lock(borrowed_mutex_);
    while (transport_ != nullptr && !is_kept_ && !borrowed_.empty() &&
           borrowed_.front().end <= transport_->completed()) {
      received.push_back(std::move(borrowed_.front().transfer));
      borrowed_.pop_front();
    }
  }
  for (const TransferRef& transfer : received) session_.end_transfer(transfer, CL_COMPLETE);
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
  fail(transfer);
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
    session_.wake();  // a blocking call may wait for the transfer's end
  }
}

std::deque<BulkSender::Borrowed> BulkSender::release() {
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(borrowed_mutex_);
  transport_ = nullptr;
  return std::exchange(borrowed_, {});
}

}  // namespace remotecl
