#include "server/transfer/bulk.h"

#include <algorithm>
#include <optional>

#include "server/completion/event_poller.h"
#include "server/transfer/transfer_table.h"
#include "server/util/error_words.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

ProtocolError not_as_announced(TransferId id) {
  return ProtocolError("transfer " + std::to_string(id) + " is not pushed, or not in this size");
}

}  // namespace

BulkReceiver::BulkReceiver(TransferTable& table, Outbox& outbox, Pushes pushes, unsigned channel)
    : table_(table), outbox_(outbox), pushes_(pushes), channel_(channel), held_(table.counters()) {}

void BulkReceiver::count_expected() {
  constexpr std::uint64_t kEach = 128;  // estimated
  held_.follow(expected_.size() * kEach + pushed_);
}

void BulkReceiver::announce_push(TransferId id, std::uint64_t size) {
  MutexLock lock(mutex_);
  const auto at = expected_.find(id);
  if (at == expected_.end() || at->second.is_announced) {
    expect_push(id, size);
    return changed_.notify_all();
  }
  if (at->second.pushed != size) throw not_as_announced(id);
  at->second.is_announced = true;
}

// Throws ProtocolError, HeldTooMuch.
BulkReceiver::Expected& BulkReceiver::expect_push(TransferId id, std::uint64_t size) {
  if (id == 0 || size == 0 || size > kPushMax || pushed_ + size > kPushedBytesMax) {
    throw ProtocolError("a write of " + std::to_string(size) + " bytes is pushed, which is nothing or too much");
  }
  const auto [at, is_new] = expected_.try_emplace(id);
  if (!is_new) throw ProtocolError("transfer id " + std::to_string(id) + " is in use");
  at->second.pushed = size;
  pushed_ += size;
  count_expected();
  return at->second;
}

void BulkReceiver::drop_push(TransferId id) {
  MutexLock lock(mutex_);
  const auto at = expected_.find(id);
  if (at == expected_.end() || at->second.pushed == 0 || at->second.transfer) return;
  if (at->second.early != nullptr) return forget(at);
  at->second.dropped = true;
  changed_.notify_all();
}

bool BulkReceiver::pull(Ref<IncomingTransfer> transfer) {
  const TransferId id = transfer->id();
  std::shared_ptr<std::byte[]> early;
  // Announced before its bytes can come.
  if (BulkTransport* const transport = transport_.load(std::memory_order_acquire)) transfer->announce_to(*transport);
  {
    MutexLock lock(mutex_);
    const auto [at, is_new] = expected_.try_emplace(id);
    Expected& expected = at->second;
    const bool is_pushed = expected.pushed == transfer->size() && expected.is_announced;
    if (!is_new && (!is_pushed || expected.transfer)) return false;
    if (expected.early != nullptr) {
      early = std::move(expected.early);
      transfer->set_transport(expected.early_by);
      forget(at);
    } else {
      expected.transfer = transfer;
      if (!is_new) changed_.notify_all();
      if (!is_new) return true;
    }
  }
  if (early != nullptr) {
    table_.finish_with(std::move(transfer), std::move(early));
  } else {
    outbox_.send(PullTransfer{id});
  }
  return true;
}

Ref<IncomingTransfer> BulkReceiver::begin(const BulkHeader& header) {
  if (header.status == kPushedChunk && pushes_ == Pushes::kTaken) return begin_pushed(header);
  MutexLock lock(mutex_);
  const auto at = expected_.find(header.transfer);
  if (at == expected_.end() || at->second.pushed != 0) {
    throw ProtocolError("bulk data for transfer " + std::to_string(header.transfer) + ", which was not pulled");
  }
  at->second.begun = true;
  return at->second.transfer;
}

// The announcement was sent before the bytes, but on another connection, where it may be behind commands that the
// driver cannot take yet. Returns null if the bytes must not wait for their command any longer, or are not needed.
Ref<IncomingTransfer> BulkReceiver::begin_pushed(const BulkHeader& header) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  MutexLock lock(mutex_);
  for (;;) {
    const auto at = expected_.find(header.transfer);
    if (stopped_) return nullptr;
    if (at == expected_.end()) {
      // It may have been announced while this thread was about to wake up.
      if (std::chrono::steady_clock::now() < end) {
        changed_.wait_until(mutex_, end);
        continue;
      }
      Expected& early = expect_push(header.transfer, header.size);
      early.is_announced = false;
      early.begun = true;
      return nullptr;
    }
    Expected& expected = at->second;
    if (expected.pushed != header.size || expected.begun) {
      throw not_as_announced(header.transfer);
    }
    const bool is_over = expected.transfer || expected.dropped;
    if (!is_over && changed_.wait_until(mutex_, end) == std::cv_status::no_timeout) continue;
    expected.begun = true;
    return expected.transfer;
  }
}

void BulkReceiver::forget(std::unordered_map<TransferId, Expected>::iterator at) {
  pushed_ -= at->second.pushed;
  taken_ += at->second.pushed;
  expected_.erase(at);
  count_expected();
  if (taken_ - reported_ < kPushedBytesMax / 4) return;
  reported_ = taken_;
  outbox_.add(PushesTaken{channel_, taken_});
}

Ref<IncomingTransfer> BulkReceiver::find_pulled(TransferId id) {
  MutexLock lock(mutex_);
  const auto at = expected_.find(id);
  return at != expected_.end() && at->second.pushed == 0 ? at->second.transfer : nullptr;
}

Ref<IncomingTransfer> BulkReceiver::cancel(TransferId id) {
  if (BulkTransport* const transport = transport_.load(std::memory_order_acquire)) transport->withdraw(id);
  MutexLock lock(mutex_);
  const auto at = expected_.find(id);
  if (at == expected_.end() || at->second.begun) return nullptr;
  Ref<IncomingTransfer> transfer = std::move(at->second.transfer);
  forget(at);
  return transfer;
}

void BulkReceiver::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::vector<Ref<IncomingTransfer>> BulkReceiver::take_all() {
  std::vector<Ref<IncomingTransfer>> taken;
  MutexLock lock(mutex_);
  for (auto& [id, expected] : expected_) {
    if (expected.transfer) taken.push_back(std::move(expected.transfer));
  }
  expected_.clear();
  return taken;
}

void BulkReceiver::finish(IncomingTransfer& transfer) {
  {
    MutexLock lock(mutex_);
    forget(expected_.find(transfer.id()));
  }
  table_.finish(transfer);
}

bool BulkReceiver::receive_early(BulkTransport& transport, const BulkHeader& header) {
  {
    MutexLock lock(mutex_);
    if (stopped_) return false;  // nothing has checked the size
  }
  std::shared_ptr<std::byte[]> bytes(new std::byte[header.size]);
  if (!transport.receive({{bytes.get(), header.size}})) return false;
  transport.report_received();  // before the command can end: the application may free the memory then
  transfers_.fetch_add(1, std::memory_order_relaxed);
  Ref<IncomingTransfer> transfer;
  {
    MutexLock lock(mutex_);
    const auto at = expected_.find(header.transfer);
    if (at == expected_.end()) return false;  // the receiver was stopped
    transfer = at->second.transfer;
    if (!transfer && !at->second.dropped) {
      at->second.early = std::move(bytes);
      at->second.early_by = transport.received_by();
      return true;
    }
    forget(at);
  }
  if (!transfer) return true;
  transfer->set_transport(transport.received_by());
  table_.finish_with(std::move(transfer), std::move(bytes));
  return true;
}

bool BulkReceiver::receive_bytes(BulkTransport& transport, std::uint32_t size, IncomingTransfer& transfer,
                                 StagingSet& staging) {
  while (size != 0) {
    std::uint32_t piece = static_cast<std::uint32_t>(std::min<std::size_t>(size, transport.staging_piece()));
    if (OfferedChunks* const offered = transfer.offered()) {
      piece = offered->receive(transport, transfer, piece, staging);
      if (piece == 0) return false;
    } else if (!transfer.receive(transport, piece, staging)) {
      return false;
    }
    transfer.count(piece);
    size -= piece;
  }
  return true;
}

bool BulkReceiver::receive_chunk(BulkTransport& transport, const BulkHeader& header, IncomingTransfer& transfer,
                                 StagingSet& staging) {
  if (header.size > kBulkChunkMax || header.size > transfer.left()) {
    throw ProtocolError("a bulk chunk of " + std::to_string(header.size) + " bytes for transfer " +
                        std::to_string(header.transfer) + ", of which " + std::to_string(transfer.left()) +
                        " bytes are left");
  }
  if (header.size == 0 && header.status == kStoredChunk && transfer.offered() != nullptr) {
    transfer.offered()->receive_stored(transfer, staging);
  } else if (header.size == 0) {
    if (header.status >= 0) {
      throw ProtocolError("transfer " + std::to_string(header.transfer) + " ends early without an error");
    }
    transfer.set_error(header.status);
    finish(transfer);
    return true;
  }
  if (!receive_bytes(transport, header.size, transfer, staging)) return false;
  if (transfer.left() != 0) return true;
  transfers_.fetch_add(1, std::memory_order_relaxed);
  transfer.set_transport(transport.received_by());
  transport.report_received();  // before the command can end: the application may free the memory then
  finish(transfer);
  return true;
}

void BulkReceiver::run(BulkTransport& transport) {
  StagingSet staging(transport);
  EventPoller poller(table_.strand().completions());
  BulkHeader header{};
  for (;; poller.look_for_a_while()) {
    if (!transport.receive_header(header)) return;
    const Ref<IncomingTransfer> transfer = begin(header);
    const bool goes_on =
        transfer ? receive_chunk(transport, header, *transfer, staging) : receive_early(transport, header);
    if (!goes_on) return;
  }
}

void BulkSender::connect(BulkTransport& transport) {
  MutexLock lock(thread_.mutex);
  transport_ = &transport;
  thread_.wake();
}

void BulkSender::post(Ref<OutgoingTransfer> transfer) {
  std::string lack;
  try {
    MutexLock lock(thread_.mutex);
    if (thread_.is_stopping()) return;
    waiting_.push_back(std::move(transfer));
    thread_.start();
    return thread_.wake();
  } catch (const std::exception& error) {
    lack = "no thread to send bulk data: " + words_of(error);
    log_warning("{}", lack);
  }
  lost_(lack);
}

std::vector<Ref<OutgoingTransfer>> BulkSender::stop() {
  thread_.stop();
  std::vector<Ref<OutgoingTransfer>> unsent;
  MutexLock lock(thread_.mutex);
  for (auto& transfer : waiting_) unsent.push_back(std::move(transfer));
  waiting_.clear();
  return unsent;
}

// A transfer that was not sent whole goes back to the queue, from which stop() returns it.
bool BulkSender::send(Ref<OutgoingTransfer> transfer, BulkTransport& transport, StagingSet& staging,
                      const Between& between) {
  bool is_sent = false;
  try {
    is_sent = transfer->send(transport, staging, between);
  } catch (...) {
    MutexLock lock(thread_.mutex);
    waiting_.push_front(std::move(transfer));
    throw;
  }
  if (is_sent) {
    transport.reclaim(transport.bytes_sent());
    transfer->set_transport(transport.sent_by());
    // Some bytes may already have been sent.
    is_sent = transfer->error() == CL_SUCCESS || transport.send_failure(transfer->id(), transfer->error());
  }
  if (!is_sent) {
    MutexLock lock(thread_.mutex);
    waiting_.push_front(std::move(transfer));
    return false;
  }
  if (transfer->error() == CL_SUCCESS) transfers_.fetch_add(1, std::memory_order_relaxed);
  table_.finish(*transfer);
  return true;
}

// Null if none may pass now.
Ref<OutgoingTransfer> BulkSender::take_passing(const PassingRule& rule, std::uint64_t left) {
  if (!rule.may_any_pass(left)) return nullptr;
  MutexLock lock(thread_.mutex);
  const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const Ref<OutgoingTransfer>& transfer) {
    return rule.may_pass(transfer->size(), left) && transfer->may_pass();
  });
  if (at == waiting_.end()) return nullptr;
  Ref<OutgoingTransfer> transfer = std::move(*at);
  waiting_.erase(at);
  return transfer;
}

void BulkSender::run() {
  try {
    send_all();
  } catch (const std::exception& error) {
    const std::string words = words_of(error);
    log_warning("cannot send bulk data: {}", words);
    lost_(words);
  }
}

void BulkSender::send_all() {
  std::optional<StagingSet> staging, passing_staging;
  for (;;) {
    Ref<OutgoingTransfer> transfer;
    BulkTransport* transport = nullptr;
    {
      MutexLock lock(thread_.mutex);
      while (is_idle()) {
        if (!thread_.rest() && is_idle()) return thread_.has_ended();
      }
      if (thread_.is_stopping()) return;
      transport = transport_;
    }
    if (!staging) staging.emplace(*transport);
    if (!passing_staging) passing_staging.emplace(*transport, kStagingSmallPiece);
    {
      MutexLock lock(thread_.mutex);
      if (waiting_.empty()) continue;
      transfer = std::move(waiting_.front());
      waiting_.pop_front();
    }
    PassingRule rule;
    const auto send_passing = [&](std::uint64_t sent, std::uint64_t left) {
      rule.sent(sent);
      while (Ref<OutgoingTransfer> passing = take_passing(rule, left)) {
        rule.passed(passing->size());
        if (!send(std::move(passing), *transport, *passing_staging, {})) return false;
      }
      return true;
    };
    const Between between = transport->may_alternate() ? Between(send_passing) : Between();
    if (!send(std::move(transfer), *transport, *staging, between)) return lost_("");
  }
}

}  // namespace remotecl::server
