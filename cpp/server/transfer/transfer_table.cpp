#include "server/transfer/transfer_table.h"

#include <exception>
#include <string>
#include <utility>

#include "server/completion/completion_notifier.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

// Completes the native part of a transfer.
void TransferTable::end(Transfer& transfer) {
  Native<cl_event> native;
  cl_int error = transfer.error();
  if (error == CL_SUCCESS) error = transfer.finish(native);
  transfer.ended(error);
  if (transfer.event() != nullptr) transfer.event()->trace.transport = transfer.transport();
  progress_.erase(transfer.id());
  if (error != CL_SUCCESS) {
    issuer_.fail(transfer.queue(), transfer.event(), error, transfer.id());
  } else if (!native) {
    if (transfer.event() != nullptr) issuer_.finish(*transfer.event());
  } else {
    const Ref<Queue> queue = transfer.take_queue();
    queue->count_native_command(native);
    issuer_.touch(*queue);
    auto position = CompletionNotifier::kLast;
    if (Event* const event = transfer.event()) {
      if (transfer.first()) event->first = transfer.first().copy();
      event->reported = event->callback_reports = true;
      if (event->id != 0) position = event->id;
    }
    // The callback keeps the transfer, whose memory the driver may still be reading.
    auto ended = [this, strand = Ref<Strand>(&strand_), kept = Ref<Transfer>(&transfer),
                  last = native.get()](cl_int status) {
      if (kept->event() == nullptr || kept->event()->report_taken.exchange(true)) return;
      reporter_.end(*kept->event(), status, kept->first() ? kept->first().get() : last, last);
      outbox_.flush();
    };
    strand_.completions().notify(native.get(), std::move(ended), position);
    issuer_.accepted(*queue, transfer.event(), std::move(native));
  }
  issuer_.finish_hold(transfer.hold());
}

void TransferTable::finish(Transfer& transfer) {
  try {
    strand_.with_lock([&]() REQUIRES(session_lock) { end(transfer); });
  } catch (const std::exception& error) {  // of a command that became ready
    strand_.fail(error);
  }
}

void TransferTable::finish_with(Ref<IncomingTransfer> transfer, std::shared_ptr<std::byte[]> bytes) {
  strand_.later([this, transfer = std::move(transfer), bytes = std::move(bytes)]() REQUIRES(session_lock) mutable {
    transfer->take(std::move(bytes));
    end(*transfer);
  });
}

void TransferTable::fail(Ref<Transfer> transfer, cl_int error) {
  strand_.later([this, transfer = std::move(transfer), error]() REQUIRES(session_lock) {
    transfer->set_error(error);
    end(*transfer);
  });
}

void TransferTable::move(Ref<Transfer> transfer, void (*work)(Transfer&, StagingPool&)) {
  movers_.post([this, strand = Ref<Strand>(&strand_), transfer = std::move(transfer), work] {
    work(*transfer, rings_);
    finish(*transfer);
  });
}

void TransferTable::post(std::function<void()> work) {
  movers_.post([strand = Ref<Strand>(&strand_), work = std::move(work)] { work(); });
}

Ref<TransferProgress> TransferTable::begin_progress(TransferId transfer) {
  auto progress = make_ref<TransferProgress>();
  if (!progress_.emplace(transfer, progress).second) {
    throw ProtocolError("transfer id " + std::to_string(transfer) + " is in use");
  }
  return progress;
}

void TransferTable::forget_progress(TransferId transfer) { progress_.erase(transfer); }

Ref<TransferProgress> TransferTable::find_progress(TransferId transfer) {
  const auto at = progress_.find(transfer);
  if (at == progress_.end()) return nullptr;
  if (!at->second->ended()) return at->second;
  progress_.erase(at);
  return nullptr;
}

void TransferTable::end_followers() {
  for (const auto& [id, progress] : progress_) progress->end(CL_DEVICE_NOT_AVAILABLE);
}

void TransferTable::stop() {
  movers_.stop();
  rings_.clear();
}

void TransferTable::clear() {
  for (const auto& [id, progress] : progress_) {
    if (const Ref<IncomingTransfer> transfer = progress->transfer()) transfer->ended(CL_DEVICE_NOT_AVAILABLE);
  }
  progress_.clear();
}

}  // namespace remotecl::server
