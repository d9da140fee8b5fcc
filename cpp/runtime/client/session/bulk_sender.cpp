#include "runtime/client/session/bulk_sender.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/protocol/frames.h"

namespace remotecl {

void BulkSender::use(BulkTransport& transport) {
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(lent_mutex_);
  transport_ = &transport;
  lends_ = transport.keeps_lent();
}

// Pushed bytes are copied, so that the caller can continue without the server. All other bytes are borrowed
// from the session until the server has received them.
bool BulkSender::send(const TransferRef& transfer) {
  const bool lends = lends_ && !transfer->is_pushed;
  const auto use = lends ? BulkTransport::Use::kLent : BulkTransport::Use::kCopied;
  const std::int32_t status = transfer->is_pushed ? kPushedChunk : 0;
  // Copied bytes need no registration.
  auto registration = lends ? register_memory(transfer->memory, transfer->size) : nullptr;
  bool ok = true;
  while (ok && transfer->moved < transfer->size) {
    const std::uint64_t left = transfer->size - transfer->moved;
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kBulkChunkMax));
    const BulkSource bytes{Bytes(transfer->memory + transfer->moved, size), registration.get()};
    const MutexLock lock(write_mutex_);
    ok = transport_ != nullptr && transport_->send({transfer->id, size, status}, bytes, use);
    transfer->advance(size);
    if (!lends || !ok || left != size) continue;
    const MutexLock lent_lock(lent_mutex_);
    lent_.push_back({transport_->bytes_sent(), transfer, std::move(registration)});
  }
  if (ok) transfers_.fetch_add(1, std::memory_order_relaxed);
  if (!lends || !ok) {
    session_.end_transfer(transfer, ok ? CL_COMPLETE : CL_DEVICE_NOT_AVAILABLE);
    return ok;
  }
  end_received();
  return !transfer->sender_waits || session_.await(*transfer);
}

std::unique_ptr<MemoryRegistration> BulkSender::register_memory(std::byte* memory, std::uint64_t size) {
  const MutexLock lock(write_mutex_);
  return transport_ != nullptr ? transport_->register_memory({memory, size}) : nullptr;
}

void BulkSender::end_received() {
  std::vector<TransferRef> received;
  {
    const MutexLock lock(lent_mutex_);
    while (transport_ != nullptr && !lent_.empty() && lent_.front().end <= transport_->completed()) {
      received.push_back(std::move(lent_.front().transfer));
      lent_.pop_front();
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
  // The server waits for the bytes.
  {
    const MutexLock lock(write_mutex_);
    if (transport_ != nullptr) transport_->send_failure(transfer->id, CL_OUT_OF_HOST_MEMORY);
  }
  session_.end_transfer(transfer, CL_OUT_OF_HOST_MEMORY);
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

std::deque<BulkSender::Lent> BulkSender::release() {
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(lent_mutex_);
  transport_ = nullptr;
  return std::exchange(lent_, {});
}

}  // namespace remotecl
