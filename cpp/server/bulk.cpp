#include "server/bulk.h"

#include <algorithm>
#include <array>

#include "server/event_poller.h"
#include "server/protocol_error.h"
#include "server/session.h"

namespace remotecl::server {

bool BulkReceiver::pull(Ref<IncomingTransfer> transfer) {
  const TransferId id = transfer->id();
  {
    MutexLock lock(mutex_);
    if (!pulled_.try_emplace(id, Pulled{std::move(transfer)}).second) return false;
  }
  outbox_.send(PullTransfer{id});
  return true;
}

Ref<IncomingTransfer> BulkReceiver::begin(TransferId id) {
  MutexLock lock(mutex_);
  const auto at = pulled_.find(id);
  if (at == pulled_.end()) return nullptr;
  at->second.begun = true;
  return at->second.transfer;
}

Ref<IncomingTransfer> BulkReceiver::cancel(TransferId id) {
  MutexLock lock(mutex_);
  const auto at = pulled_.find(id);
  if (at == pulled_.end() || at->second.begun) return nullptr;
  Ref<IncomingTransfer> transfer = std::move(at->second.transfer);
  pulled_.erase(at);
  return transfer;
}

std::vector<Ref<IncomingTransfer>> BulkReceiver::take_all() {
  std::vector<Ref<IncomingTransfer>> taken;
  MutexLock lock(mutex_);
  for (auto& [id, pulled] : pulled_) taken.push_back(std::move(pulled.transfer));
  pulled_.clear();
  return taken;
}

void BulkReceiver::finish(IncomingTransfer& transfer) {
  {
    MutexLock lock(mutex_);
    pulled_.erase(transfer.id());
  }
  session_.finish_transfer(transfer);
}

void BulkReceiver::run(Connection& connection) {
  StagingSet staging;
  EventPoller poller;
  std::array<std::byte, kBulkHeaderSize> bytes;
  for (;; poller.look_for_a_while()) {
    if (!connection.read_exactly(bytes)) return;
    const auto header = decode_frame<BulkHeader>(bytes);
    const Ref<IncomingTransfer> transfer = begin(header.transfer);
    if (!transfer) {
      throw ProtocolError("bulk data for transfer " + std::to_string(header.transfer) + ", which was not pulled");
    }
    if (header.size > kBulkChunkMax || header.size > transfer->left()) {
      throw ProtocolError("a bulk chunk of " + std::to_string(header.size) + " bytes for transfer " +
                          std::to_string(header.transfer) + ", of which " + std::to_string(transfer->left()) +
                          " bytes are left");
    }
    if (header.size == 0) {
      if (header.status >= 0) {
        throw ProtocolError("transfer " + std::to_string(header.transfer) + " ends early without an error");
      }
      transfer->set_error(header.status);
      finish(*transfer);
      continue;
    }
    for (std::uint32_t left = header.size; left != 0;) {
      const auto piece = std::min<std::uint32_t>(left, StagingRing::kSlotSize);
      if (!transfer->receive(connection, piece, staging)) return;
      transfer->count(piece);
      left -= piece;
    }
    if (transfer->left() == 0) finish(*transfer);
  }
}

namespace {

bool send(OutgoingTransfer& transfer, Connection& connection, StagingSet& staging) {
  if (!transfer.send(connection, staging)) return false;
  if (transfer.error() == CL_SUCCESS) return true;
  // Some bytes may have gone already.
  return connection.write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>({transfer.id(), 0, transfer.error()})));
}

}  // namespace

void BulkSender::connect(Connection& connection) {
  MutexLock lock(mutex_);
  connection_ = &connection;
  wake_.notify_one();
}

void BulkSender::post(Ref<OutgoingTransfer> transfer) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  waiting_.push_back(std::move(transfer));
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  wake_.notify_one();
}

std::vector<Ref<OutgoingTransfer>> BulkSender::stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    thread.swap(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
  std::vector<Ref<OutgoingTransfer>> unsent;
  MutexLock lock(mutex_);
  if (broken_) unsent.push_back(std::move(broken_));
  for (auto& transfer : waiting_) unsent.push_back(std::move(transfer));
  waiting_.clear();
  return unsent;
}

void BulkSender::run() {
  StagingSet staging;
  for (;;) {
    Ref<OutgoingTransfer> transfer;
    Connection* connection = nullptr;
    {
      MutexLock lock(mutex_);
      while ((waiting_.empty() || connection_ == nullptr) && !stopped_) wake_.wait(mutex_);
      if (stopped_) return;
      transfer = std::move(waiting_.front());
      waiting_.pop_front();
      connection = connection_;
    }
    if (!send(*transfer, *connection, staging)) {
      {
        MutexLock lock(mutex_);
        broken_ = std::move(transfer);
      }
      lost_();
      return;
    }
    session_.finish_transfer(*transfer);
  }
}

}  // namespace remotecl::server
