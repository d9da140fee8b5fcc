#include "server/bulk.h"

#include <array>

#include "server/protocol_error.h"
#include "server/session.h"

namespace remotecl::server {

void BulkReceiver::pull(Ref<IncomingTransfer> transfer) {
  const TransferId id = transfer->id();
  bool added = false;
  {
    MutexLock lock(mutex_);
    added = pulled_.emplace(id, std::move(transfer)).second;
  }
  if (added) {
    session_.outbox().send(PullTransfer{id});
  } else {
    session_.close("transfer id " + std::to_string(id) + " is in use");
  }
}

Ref<IncomingTransfer> BulkReceiver::find(TransferId id) {
  MutexLock lock(mutex_);
  const auto at = pulled_.find(id);
  return at == pulled_.end() ? nullptr : at->second;
}

void BulkReceiver::remove(TransferId id) {
  MutexLock lock(mutex_);
  pulled_.erase(id);
}

void BulkReceiver::drop_all() {
  std::unordered_map<TransferId, Ref<IncomingTransfer>> dropped;
  MutexLock lock(mutex_);
  dropped.swap(pulled_);
}

void BulkReceiver::run(Connection& connection) {
  StagingSet staging;
  std::array<std::byte, kBulkHeaderSize> bytes;
  while (connection.read_exactly(bytes)) {
    const auto header = decode_frame<BulkHeader>(bytes);
    const Ref<IncomingTransfer> transfer = find(header.transfer);
    if (!transfer) {
      throw ProtocolError("bulk data for transfer " + std::to_string(header.transfer) + ", which was not pulled");
    }
    if (header.size == 0 || header.size > kBulkChunkMax || header.size > transfer->left()) {
      throw ProtocolError("a bulk chunk of " + std::to_string(header.size) + " bytes for transfer " +
                          std::to_string(header.transfer) + ", of which " + std::to_string(transfer->left()) +
                          " bytes are left");
    }
    if (!transfer->receive(connection, header.size, staging)) return;
    transfer->count(header.size);
    if (transfer->left() != 0) continue;
    remove(header.transfer);
    session_.finish_transfer(*transfer);
  }
}

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

void BulkSender::stop() {
  std::thread thread;
  std::deque<Ref<OutgoingTransfer>> dropped;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
    thread.swap(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
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
    if (!transfer->send(*connection, staging)) {
      session_.close("the bulk connection was lost");
      return;
    }
    session_.finish_transfer(*transfer);
  }
}

}  // namespace remotecl::server
