#include "server/transfer/bulk_channel.h"

#include <string>
#include <utility>

#include "server/transfer/transfer_table.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

constexpr const char* kLost = "the bulk connection was lost";

std::string lost_for(const std::string& lack) { return lack.empty() ? kLost : std::string(kLost) + ": " + lack; }

}  // namespace

BulkChannel::BulkChannel(TransferTable& transfers, StreamRecovery& recovery, unsigned number)
    : strand_(transfers.strand()),
      outbox_(transfers.outbox()),
      recovery_(recovery),
      number_(number),
      receiver_(transfers, outbox_, BulkReceiver::Pushes::kTaken, number),
      sender_(transfers, [this](const std::string& lack) { strand_.close(lost_for(lack)); }) {}

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

bool BulkChannel::attach(StreamCarrier carrier) {
  MutexLock lock(mutex_);
  if (closed_) return false;
  auto hooks = recovery_.hooks("bulk", [this](std::uint64_t received) {
    outbox_.send(ServerReceived{StreamKind::kBulk, number_, received});
  });
  BulkLine line = open_bulk(std::move(carrier), {recovery_.window(), std::move(hooks), true});
  stream_.store(line.stream, std::memory_order_release);
  transport_ = std::move(line.transport);
  receiver_.connect(*transport_);
  running_ = true;
  return true;
}

void BulkChannel::run() {
  const LogScope scope(strand_.id());
  BulkTransport* transport = nullptr;
  {
    MutexLock lock(mutex_);
    transport = transport_.get();
  }
  sender_.connect(*transport);
  try {
    receiver_.run(*transport);
    const std::string reason = stream() != nullptr ? stream()->reason() : "";
    const std::string& violation = transport->violation();
    strand_.close(violation.empty() ? lost_for(reason) : violation);
  } catch (const std::exception& error) {
    strand_.fail(error);
    log_warning("{}", error.what());
  }
  MutexLock lock(mutex_);
  running_ = false;
  left_.notify_all();
}

// attach() either has made the stream before, or will see the new window.
void BulkChannel::set_window(std::chrono::milliseconds window) {
  MutexLock lock(mutex_);
  if (ResumableConnection* const made = stream()) made->set_window(window);
}

void BulkChannel::shutdown() {
  MutexLock lock(mutex_);
  closed_ = true;
  if (transport_ != nullptr) transport_->shutdown();
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
  if (transport_ == nullptr) return traffic;
  const RdmaState rdma = transport_->rdma();
  traffic.bulk_bytes_sent = transport_->bytes_sent() + rdma.bytes_sent;
  traffic.bulk_bytes_received = transport_->bytes_received() + rdma.bytes_received;
  traffic.compression = transport_->compression();
  return traffic;
}

RdmaState BulkChannel::rdma() const {
  MutexLock lock(mutex_);
  return transport_ == nullptr ? RdmaState() : transport_->rdma();
}

}  // namespace remotecl::server
