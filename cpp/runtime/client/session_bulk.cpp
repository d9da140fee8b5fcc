// How a session sends bulk data: when the server pulls it, from whoever waits for that or from a thread of its own.
#include "runtime/client/session.h"

namespace remotecl {

void Session::handle_pull(TransferId id) {
  const TransferRef transfer = find_transfer(id, true);
  if (!transfer || transfer->state.load() != Transfer::State::kPending) return;
  transfer->state.store(Transfer::State::kPulled, std::memory_order_release);
  if (transfer->sender_waits) return;  // wait() returns in that thread, which sends
  const std::lock_guard lock(sender_mutex_);
  to_send_.push_back(transfer);
  if (!sender_.joinable()) sender_ = std::thread([this] { bulk_sender(); });
  sender_wanted_.notify_one();
}

void Session::handle_pushes_taken(const PushesTaken& report) {
  const bool is_news = report.bytes >= pushed_bytes_taken_.load() && report.bytes <= pushed_bytes_.load();
  if (!is_news) return lose("the server has taken more than was sent to it");
  pushed_bytes_taken_.store(report.bytes, std::memory_order_relaxed);
}

// What is pushed is copied, so that the caller can go on without the server. Anything else stays the session's until
// the server has received it.
bool Session::send_bulk(const TransferRef& transfer) {
  const bool lends = streams_.bulk() != nullptr && !transfer->is_pushed;
  const std::int32_t status = transfer->is_pushed ? kPushedChunk : 0;
  bool ok = true;
  while (ok && transfer->moved < transfer->size) {
    const std::uint64_t left = transfer->size - transfer->moved;
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kBulkChunkMax));
    const auto header = encode_frame<BulkHeader, kBulkHeaderSize>(BulkHeader{transfer->id, size, status});
    const std::lock_guard lock(bulk_write_mutex_);
    const Bytes bytes(transfer->memory + transfer->moved, size);
    ok = lends ? bulk_->write_lent(header, bytes) : bulk_->write(header, bytes);
    transfer->advance(size);
    if (!lends || !ok || left != size) continue;
    const std::lock_guard tables_lock(tables_mutex_);
    lent_.push_back({bulk_->bytes_sent(), transfer});
  }
  if (ok) bulk_sent_.fetch_add(1, std::memory_order_relaxed);
  if (!lends || !ok) {
    end_transfer(transfer, ok ? CL_COMPLETE : CL_DEVICE_NOT_AVAILABLE);
    return ok;
  }
  end_received();
  return !transfer->sender_waits || wait([&] { return transfer->ended(); });
}

void Session::end_received() {
  std::vector<TransferRef> received;
  {
    const std::lock_guard lock(tables_mutex_);
    while (!lent_.empty() && lent_.front().end <= streams_.bulk()->acknowledged_bytes()) {
      received.push_back(std::move(lent_.front().transfer));
      lent_.pop_front();
    }
  }
  for (const TransferRef& transfer : received) end_transfer(transfer, CL_COMPLETE);
}

void Session::bulk_sender() {
  std::unique_lock lock(sender_mutex_);
  for (;;) {
    sender_wanted_.wait(lock, [this] { return lost() || !to_send_.empty(); });
    if (lost()) return;
    const TransferRef transfer = std::move(to_send_.front());
    to_send_.pop_front();
    lock.unlock();
    send_bulk(transfer);
    lock.lock();
  }
}

}  // namespace remotecl
