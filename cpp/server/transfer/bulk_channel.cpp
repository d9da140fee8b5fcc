#include "server/transfer/bulk_channel.h"

#include <string>
#include <utility>

#include "server/transfer/transfer_table.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

constexpr const char* kLost = "the bulk connection was lost";

}  // namespace

BulkChannel::BulkChannel(TransferTable& transfers, StreamRecovery& recovery, unsigned number)
    : strand_(transfers.strand()),
      outbox_(transfers.outbox()),
      recovery_(recovery),
      number_(number),
      receiver_(transfers, outbox_, BulkReceiver::Pushes::kTaken, number),
      sender_(transfers, [this] { strand_.close(kLost); }) {}

void BulkChannel::pull(Ref<IncomingTransfer> transfer) {
  const TransferId id = transfer->id();
  if (!receiver_.pull(std::move(transfer))) strand_.close("transfer id " + std::to_string(id) + " is in use");
}

bool BulkChannel::claim() {
  MutexLock lock(mutex_);
  return !std::exchange(claimed_, true);
}

void BulkChannel::leave() {
  MutexLock lock(mutex_);
  claimed_ = false;
}

bool BulkChannel::attach(std::unique_ptr<Connection> connection, bool is_resumable, SharedMemoryConnection* memory) {
  MutexLock lock(mutex_);
  if (closed_) return false;
  connection_ = is_resumable ? make_stream(std::move(connection), memory) : std::move(connection);
  running_ = true;
  return true;
}

// Of one through memory only the doorbell can be lost.
std::unique_ptr<Connection> BulkChannel::make_stream(std::unique_ptr<Connection> carrier,
                                                     SharedMemoryConnection* memory) {
  auto hooks = recovery_.hooks("bulk", [this](std::uint64_t received) {
    outbox_.send(ServerReceived{StreamKind::kBulk, number_, received});
  });
  if (memory != nullptr) {
    stream_.store(&memory->keep_doorbell(recovery_.window(), std::move(hooks)), std::memory_order_release);
    return carrier;
  }
  auto made = std::make_unique<ResumableConnection>(std::move(carrier), recovery_.window(), std::move(hooks));
  made->make_writers_wait();
  stream_.store(made.get(), std::memory_order_release);
  return made;
}

void BulkChannel::run() {
  const LogScope scope(strand_.id());
  Connection* connection = nullptr;
  {
    MutexLock lock(mutex_);
    connection = connection_.get();
  }
  sender_.connect(*connection);
  try {
    receiver_.run(*connection);
    std::string words = kLost;
    const std::string reason = stream() != nullptr ? stream()->reason() : "";
    if (!reason.empty()) words.append(": ").append(reason);
    strand_.close(words);
  } catch (const std::exception& error) {
    log_warning("{}", error.what());
    strand_.close(error.what());
  }
  MutexLock lock(mutex_);
  running_ = false;
  left_.notify_all();
}

// Whoever attaches the stream has either put it there, or sees the new window.
void BulkChannel::set_window(std::chrono::milliseconds window) {
  MutexLock lock(mutex_);
  if (ResumableConnection* const made = stream()) made->set_window(window);
}

void BulkChannel::shutdown() {
  MutexLock lock(mutex_);
  closed_ = true;
  if (connection_ != nullptr) connection_->shutdown();
  receiver_.stop();
}

void BulkChannel::close() {
  {
    MutexLock lock(mutex_);
    while (running_) left_.wait(mutex_);
  }
  sender_.stop();
}

Traffic BulkChannel::traffic() const {
  Traffic traffic;
  traffic.bulk_sent = sender_.transfers();
  traffic.bulk_received = receiver_.transfers();
  MutexLock lock(mutex_);
  if (connection_ == nullptr) return traffic;
  traffic.bulk_bytes_sent = connection_->bytes_sent();
  traffic.bulk_bytes_received = connection_->bytes_received();
  return traffic;
}

}  // namespace remotecl::server
