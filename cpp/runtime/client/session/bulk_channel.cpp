#include "runtime/client/session/bulk_channel.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "runtime/client/support/fork_guard.h"

namespace remotecl {

void BulkChannel::shutdown() {
  ended_ = true;
  transport_->shutdown();
  {
    const MutexLock lock(sender_mutex_);
    sender_wanted_.notify_all();
  }
  const MutexLock lock(reader_mutex_);
  reader_changed_.notify_all();
}

void BulkChannel::release() {
  end_threads();
  for (const int descriptor : std::exchange(given_up_in_forks_, {})) forget_in_child(descriptor);
  std::unique_ptr<BulkTransport> gone;
  std::deque<Lent> lent;
  const MutexLock write_lock(write_mutex_);
  const MutexLock lock(lent_mutex_);
  gone.swap(transport_);
  lent.swap(lent_);
  stream_ = nullptr;
}

bool BulkChannel::take_push_room(std::uint64_t size) {
  const std::uint64_t taken = pushed_bytes_taken_.load(std::memory_order_relaxed);
  if (pushed_bytes_.fetch_add(size, std::memory_order_relaxed) + size - taken <= kPushedBytesMax) return true;
  pushed_bytes_.fetch_sub(size, std::memory_order_relaxed);
  return false;
}

bool BulkChannel::pushes_taken(std::uint64_t bytes) {
  if (bytes < pushed_bytes_taken_.load() || bytes > pushed_bytes_.load()) return false;
  pushed_bytes_taken_.store(bytes, std::memory_order_relaxed);
  return true;
}

// What is pushed is copied, so that the caller can go on without the server. Anything else stays the session's until
// the server has received it.
bool BulkChannel::send(const TransferRef& transfer) {
  const bool lends = lends_ && !transfer->is_pushed;
  const auto use = lends ? BulkTransport::Use::kLent : BulkTransport::Use::kCopied;
  const std::int32_t status = transfer->is_pushed ? kPushedChunk : 0;
  // What is copied needs none.
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
  if (ok) sent_.fetch_add(1, std::memory_order_relaxed);
  if (!lends || !ok) {
    session_.end_transfer(transfer, ok ? CL_COMPLETE : CL_DEVICE_NOT_AVAILABLE);
    return ok;
  }
  end_received();
  return !transfer->sender_waits || session_.await(*transfer);
}

std::unique_ptr<MemoryRegistration> BulkChannel::register_memory(std::byte* memory, std::uint64_t size) {
  const MutexLock lock(write_mutex_);
  return transport_ != nullptr ? transport_->register_memory({memory, size}) : nullptr;
}

void BulkChannel::end_received() {
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

void BulkChannel::post(TransferRef transfer) {
  {
    const MutexLock lock(sender_mutex_);
    try {
      if (!sender_.joinable()) sender_ = std::thread([this] { run_sender(); });
      to_send_.push_back(std::move(transfer));
      return sender_wanted_.notify_one();
    } catch (const std::system_error&) {  // no thread
    }
  }
  // The server waits for bytes.
  {
    const MutexLock lock(write_mutex_);
    if (transport_ != nullptr) transport_->send_failure(transfer->id, CL_OUT_OF_HOST_MEMORY);
  }
  session_.end_transfer(transfer, CL_OUT_OF_HOST_MEMORY);
}

void BulkChannel::run_sender() {
  for (;;) {
    TransferRef transfer;
    {
      const MutexLock lock(sender_mutex_);
      while (!ended_ && to_send_.empty()) sender_wanted_.wait(sender_mutex_);
      if (ended_) return;
      transfer = std::move(to_send_.front());
      to_send_.pop_front();
    }
    send(transfer);
    session_.wake();  // a blocking call may wait for its end
  }
}

bool BulkChannel::read() {
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
    received_.fetch_add(1, std::memory_order_relaxed);
    session_.end_transfer(transfer_, CL_COMPLETE);
    registration_.reset();
    transfer_.reset();
    return true;  // whoever waits for it can go on
  }
  return true;
}

// CommandFailed comes on another connection, perhaps long before the bytes that were sent ahead of it.
void BulkChannel::expect_rest(const TransferRef& failed) {
  const MutexLock lock(failed_mutex_);
  if (failed_.size() == kFailedMax) failed_.pop_front();
  failed_.push_back(failed);
}

void BulkChannel::forget_failed(TransferId id) {
  const MutexLock lock(failed_mutex_);
  std::erase_if(failed_, [id](const TransferRef& failed) { return failed->id == id; });
}

// A receive on this channel, which may have failed. Null when there is none such.
TransferRef BulkChannel::find_transfer(TransferId id) {
  TransferRef transfer = session_.find_receive(id);
  if (transfer) return transfer->channel == this ? transfer : nullptr;
  const MutexLock lock(failed_mutex_);
  const auto at = std::find_if(failed_.begin(), failed_.end(), [id](const TransferRef& t) { return t->id == id; });
  return at == failed_.end() ? nullptr : *at;
}

// The end of a transfer that has failed; CommandFailed says so, too.
void BulkChannel::note_failure(TransferId id) {
  const TransferRef transfer = find_transfer(id);
  if (!transfer) return;
  const MutexLock lock(transfer->mutex);
  transfer->has_no_more = true;
  forget_failed(id);
}

// What a malicious server announces must fit what we asked for.
bool BulkChannel::begin_chunk(const BulkHeader& header) {
  transfer_ = find_transfer(header.transfer);
  if (!transfer_) return false;
  const MutexLock lock(transfer_->mutex);
  if (transfer_->has_no_more || header.size == 0) return false;
  if (header.size > transfer_->size - transfer_->announced) return false;
  transfer_->announced += header.size;
  chunk_left_ = header.size;
  if (!transfer_->is_over) {
    registration_ = transport_->register_memory({transfer_->memory + transfer_->moved, header.size});
  }
  if (transfer_->announced == transfer_->size) forget_failed(header.transfer);
  return true;
}

// As try_read_some(), of the chunk that is coming. Its command may fail in the midst of it: the memory is the
// application's again.
std::ptrdiff_t BulkChannel::read_piece(bool& is_complete) {
  const MutexLock lock(transfer_->mutex);
  const bool is_wanted = !transfer_->is_over;
  const std::ptrdiff_t count =
      is_wanted ? transport_->try_receive({{transfer_->memory + transfer_->moved, chunk_left_}, registration_.get()})
                : transport_->try_discard(chunk_left_);
  if (count <= 0) return count;
  transfer_->advance(static_cast<std::uint64_t>(count));
  chunk_left_ -= static_cast<std::uint64_t>(count);
  is_complete = is_wanted && transfer_->moved == transfer_->size;
  return count;
}

// Not where the stream asks for it: there a transfer's lock may be held, and this writes.
void BulkChannel::acknowledge() {
  if (!std::exchange(is_due_, false)) return;
  session_.acknowledge(ClientReceived{StreamKind::kBulk, number_, received_bytes_});
}

}  // namespace remotecl
