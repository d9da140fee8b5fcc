#include "runtime/client/session/transfer_table.h"

#include <cstring>
#include <new>
#include <utility>

#include "runtime/client/session/trace_sink.h"
#include "runtime/client/support/ids.h"
#include "runtime/client/support/inbound_host_ranges.h"

namespace remotecl {
namespace {

std::uint64_t span(const ClientTransfer& transfer) {
  return transfer.rows ? transfer.rows->span() : transfer.size.load();
}

// If the transfer would read from `left`, makes it read from a copy. Returns false if it still reads there, because its
// bytes are being sent already or there is no memory for the copy.
bool detach(ClientTransfer& transfer, Bytes left) {
  const MutexLock lock(transfer.mutex);
  const std::uint64_t size = span(transfer);
  if (transfer.memory >= left.data() + left.size() || left.data() >= transfer.memory + size) return true;
  if (transfer.is_over) return true;
  if (transfer.state.load() != ClientTransfer::State::kPending) return false;
  // Bytes that are still on their way to this process cannot be copied yet.
  if (InboundHostRanges::instance().when_there(transfer.memory, size, [] {})) return true;
  std::shared_ptr<std::byte[]> copy;
  try {
    copy = std::make_shared_for_overwrite<std::byte[]>(size);
  } catch (const std::bad_alloc&) {
    return false;
  }
  std::memcpy(copy.get(), transfer.memory, size);
  transfer.memory = copy.get();
  if (transfer.offer) transfer.offer->has_moved_to(copy.get());
  transfer.keep_alive = std::move(copy);
  return true;
}

LinkMeter::Way way_of(const ClientTransfer& transfer) {
  return transfer.sends ? LinkMeter::Way::kUp : LinkMeter::Way::kDown;
}

}  // namespace

TransferRef TransferTable::begin_receive(std::uint32_t device, std::byte* to, std::uint64_t size,
                                         std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive,
                                         const std::optional<Rows>& rows) {
  auto transfer = std::make_shared<ClientTransfer>();
  transfer->memory = to;
  transfer->rows = rows;
  transfer->size = size;
  return begin(device, std::move(transfer), std::move(finished), std::move(keep_alive));
}

TransferRef TransferTable::begin_send(std::uint32_t device, const std::byte* from, std::uint64_t size,
                                      std::function<void(cl_int)> finished, std::shared_ptr<void> keep_alive,
                                      bool sender_waits, const std::optional<Rows>& rows) {
  auto transfer = std::make_shared<ClientTransfer>();
  transfer->sends = true;
  transfer->memory = const_cast<std::byte*>(from);
  transfer->rows = rows;
  transfer->size = size;
  transfer->sender_waits = sender_waits;
  const BulkChannel& channel = channels_.of(device);
  if (size >= kUploadChunk && !rows && !channel.has_rdma() && uploads_.may_begin(channel.streams() != 0)) {
    transfer->offer = std::make_unique<UploadOffer>(uploads_, from, size);
  }
  return begin(device, std::move(transfer), std::move(finished), std::move(keep_alive));
}

// A push is one chunk, is not measured, and is compressed only if it is small. So a large one is for links that are
// known to be fast. By RDMA the server's card writes only what was pulled.
bool TransferTable::take_push(std::uint32_t device, std::uint64_t size, bool blocking) {
  BulkChannel& channel = channels_.of(device);
  const bool is_small = size <= kSmallPushMax;
  if (size > kPushMax || (channel.has_rdma() && !(is_small && blocking))) return false;
  const bool is_fast = channel.streams() == 0 || uploads_.speed() == UploadLink::Speed::kFast;
  return (is_small || is_fast) && channel.pushes().take_room(size);
}

TransferRef TransferTable::begin_push(std::uint32_t device, const std::byte* from, std::uint64_t size,
                                      std::function<void(cl_int)> finished, bool blocking, bool sender_waits) {
  auto transfer = std::make_shared<ClientTransfer>();
  transfer->sends = transfer->is_pushed = true;
  transfer->is_copied = blocking && size <= kSmallPushMax;
  // If the server has taken all earlier pushes, there is room for this one, so sending it needs no other
  // thread.
  transfer->sender_waits = sender_waits || (transfer->is_copied && channels_.of(device).pushes().is_only(size));
  transfer->memory = const_cast<std::byte*>(from);
  transfer->size = size;
  transfer->state.store(ClientTransfer::State::kPulled);
  return begin(device, std::move(transfer), std::move(finished), nullptr);
}

TransferRef TransferTable::begin(std::uint32_t device, TransferRef transfer, std::function<void(cl_int)> finished,
                                 std::shared_ptr<void> keep_alive) {
  transfer->id = next_id();
  transfer->channel = &channels_.of(device);
  transfer->is_expected = !transfer->sends && transfer->size > kInlineDataMax && !channels_.is_one();
  if (transfer->is_expected) transfer->channel->reader().expect();
  transfer->finished = std::move(finished);
  transfer->keep_alive = std::move(keep_alive);
  {
    const MutexLock lock(mutex_);
    if (!loss_.lost()) {
      transfers_.emplace(transfer->id, transfer);
      return transfer;
    }
  }
  end(transfer, CL_DEVICE_NOT_AVAILABLE);
  return transfer;
}

TransferRef TransferTable::find(TransferId id) {
  const MutexLock lock(mutex_);
  const auto at = transfers_.find(id);
  return at == transfers_.end() ? nullptr : at->second;
}

TransferRef TransferTable::find_locked(TransferId id, bool sends) const {
  const auto at = transfers_.find(id);
  return at != transfers_.end() && at->second->sends == sends ? at->second : nullptr;
}

TransferRef TransferTable::find(TransferId id, bool sends) {
  const MutexLock lock(mutex_);
  return find_locked(id, sends);
}

// Begins the measurement under the lock, so that none begins for a transfer that has ended.
TransferRef TransferTable::find_moving(TransferId id, bool sends) {
  const MutexLock lock(mutex_);
  TransferRef transfer = find_locked(id, sends);
  const bool is_large = transfer && transfer->size >= LinkMeter::kBytesMin;
  if (is_large && !std::exchange(transfer->is_metered, true)) link_.begin(way_of(*transfer));
  return transfer;
}

double TransferTable::bytes_per_s(LinkMeter::Way way) const {
  const double measured = link_.bytes_per_s(way);
  // Writes of which bytes stay here do not measure the link as a whole.
  return measured == 0 && way == LinkMeter::Way::kUp ? static_cast<double>(uploads_.bytes_per_s()) : measured;
}

std::vector<TransferRef> TransferTable::all() const {
  std::vector<TransferRef> transfers;
  const MutexLock lock(mutex_);
  for (const auto& [id, transfer] : transfers_) transfers.push_back(transfer);
  return transfers;
}

void TransferTable::list(std::vector<Operation>& list, const std::string& where) const {
  const MutexLock lock(mutex_);
  for (const auto& [id, transfer] : transfers_) {
    const std::uint64_t size = transfer->size.load(std::memory_order_relaxed);
    const std::uint64_t moved = transfer->moved.load(std::memory_order_relaxed);
    const bool begun = moved != 0 || transfer->state.load() == ClientTransfer::State::kPulled;
    if (size < Operations::kTransferSizeMin || !begun) continue;
    const auto kind = transfer->sends ? Operation::Kind::kUpload : Operation::Kind::kDownload;
    list.push_back({id, kind, where, moved, size});
  }
}

void TransferTable::end(const TransferRef& transfer, cl_int status) {
  {
    const MutexLock lock(transfer->mutex);
    if (std::exchange(transfer->is_over, true)) return;
    const bool has_more = !transfer->received.has_no_more && transfer->received.announced != transfer->size;
    if (status != CL_COMPLETE && !transfer->sends && has_more) transfer->channel->expect_rest(transfer);
  }
  if (status != CL_COMPLETE && !transfer->sends) {
    transfer->channel->withdraw(transfer->id);
    std::unique_ptr<MemoryRegistration> unused;
    const MutexLock lock(transfer->mutex);
    unused = std::move(transfer->received.registration);
  }
  {
    const MutexLock lock(mutex_);
    transfers_.erase(transfer->id);
  }
  if (transfer->is_expected) transfer->channel->reader().stop_expecting();
  const bool ok = status == CL_COMPLETE;
  const bool is_whole = ok && (transfer->offer == nullptr || !transfer->offer->has_skipped());
  if (transfer->is_metered) link_.end(way_of(*transfer), is_whole ? transfer->size.load() : 0);
  if (TraceSink* const trace = TraceSink::current();
      transfer->trace.record != 0 && !transfer->sends && ok && trace != nullptr) {
    if (transfer->trace.spared != 0) trace->crossed(transfer->trace.record, transfer->size - transfer->trace.spared);
    trace->arrived(transfer->trace.record);
  }
  if (transfer->finished) std::exchange(transfer->finished, nullptr)(status);
  transfer->keep_alive.reset();
  transfer->failure = status;
  transfer->state.store(ok ? ClientTransfer::State::kDone : ClientTransfer::State::kFailed, std::memory_order_release);
}

void TransferTable::fail(TransferId id, cl_int status) {
  const TransferRef transfer = find(id);
  if (transfer && !transfer->is_pushed) end(transfer, status);
}

std::vector<TransferRef> TransferTable::copy_pending(const std::byte* memory, std::uint64_t size) {
  std::vector<TransferRef> begun = all();
  std::erase_if(begun, [&](const TransferRef& transfer) {
    return !transfer->sends || detach(*transfer, {memory, size});
  });
  return begun;
}

void TransferTable::pull(TransferId id) {
  const TransferRef transfer = find_moving(id, true);
  if (!transfer) return;
  {
    const MutexLock lock(transfer->mutex);
    if (transfer->state.load() != ClientTransfer::State::kPending) return;
    transfer->state.store(ClientTransfer::State::kPulled, std::memory_order_release);
  }
  if (!transfer->sender_waits)
    transfer->channel->sender().post(transfer);  // else the waiting thread wakes up and sends
}

bool TransferTable::take_reply(const ChunksFound& report) {
  const TransferRef transfer = find(report.transfer, true);
  if (!transfer) return true;
  if (transfer->offer == nullptr) return false;
  const auto taken = transfer->offer->take_reply(report.offset, report.found, report.keeps != 0);
  if (taken == UploadOffer::Effect::kAwaited && !transfer->sender_waits) transfer->channel->sender().post(transfer);
  return taken != UploadOffer::Effect::kImpossible;
}

bool TransferTable::set_size(TransferId id, std::uint64_t size) {
  const TransferRef transfer = find(id, false);
  if (!transfer) return true;
  {
    const MutexLock lock(transfer->mutex);
    if (!transfer->may_be_short || size > transfer->size || size < transfer->received.announced) return false;
    transfer->size = size;
  }
  if (transfer->moved == transfer->size) end(transfer, CL_COMPLETE);
  return true;
}

bool TransferTable::take_bytes(TransferId id, Bytes bytes) {
  const TransferRef transfer = find(id, false);
  if (!transfer) return true;
  {
    const MutexLock lock(transfer->mutex);
    const bool has_chunk = transfer->received.announced != transfer->moved;
    const bool fits = bytes.size() == transfer->size || (transfer->may_be_short && bytes.size() < transfer->size);
    if (has_chunk || !fits) return false;
    if (!transfer->is_over) transfer->put(bytes);
  }
  end(transfer, CL_COMPLETE);
  return true;
}

}  // namespace remotecl
