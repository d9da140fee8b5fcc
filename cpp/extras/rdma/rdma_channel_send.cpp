#include <poll.h>

#include <algorithm>
#include <chrono>

#include "extras/rdma/rdma_channel.h"

namespace remotecl {
namespace {

// How long a device may take to complete requests of a queue pair that has failed. Cards take milliseconds; Soft-RoCE
// on a busy machine, whose threads stop for seconds, takes longer.
constexpr auto kFlushTimeMax = std::chrono::seconds(10);
constexpr int kFlushLookMs = 10;

}  // namespace

using rdma::MessageKind;

MutableBytes RdmaChannel::send_buffer(std::uint64_t request) const {
  const std::size_t buffer = QueuePair::kReceives + request % QueuePair::kSends;
  return buffers_.bytes().subspan(buffer * rdma::kBufferBytes, rdma::kBufferBytes);
}

// The caller ensures that there is room.
bool RdmaChannel::post_message(MessageKind kind, Bytes payload) {
  const rdma::MessageHeader header{kind, 0, static_cast<std::uint16_t>(payload.size()), credits_.limit_for_peer()};
  const MutableBytes buffer = send_buffer(pair_.posted() + 1);
  std::memcpy(buffer.data(), &header, sizeof(header));
  if (!payload.empty()) std::memcpy(buffer.data() + sizeof(header), payload.data(), payload.size());
  if (!pair_.send(buffer.first(sizeof(header) + payload.size()), buffers_.registration())) {
    end("the queue pair takes no message");
    return false;
  }
  credits_.note_limit_reported();
  note_posted();
  return true;
}

void RdmaChannel::note_posted() { sending_.positions[pair_.posted() % QueuePair::kSends] = bytes_sent(); }

void RdmaChannel::return_credits() {
  if (!is_over() && credits_.should_report_limit() && pair_.has_room(QueuePair::kKeptForWindows)) {
    post_message(MessageKind::kCredit, {});
  }
}

// ---- Bulk data

RdmaChannel::Grant* RdmaChannel::grant_of(std::uint64_t transfer) {
  const auto found = std::find_if(sending_.grants.begin(), sending_.grants.end(),
                                  [=](const Grant& grant) { return grant.left != 0 && grant.transfer == transfer; });
  return found == sending_.grants.end() ? nullptr : &*found;
}

bool RdmaChannel::send(std::uint64_t transfer, const RdmaSource& source, Use use) {
  const MutexLock lock(mutex_);
  drain();
  const bool is_copied = source.registration == nullptr;
  RdmaSource left = source;
  while (!left.bytes.empty()) {
    std::size_t done = take_skip(transfer, left.bytes.size());
    if (done == 0 && may_write(transfer, is_copied)) done = write_piece(transfer, left);
    left.bytes = left.bytes.subspan(done);
    if (done != 0) continue;
    const Completions kind = grant_of(transfer) == nullptr ? what_makes_room() : Completions::kAll;
    if (!await_progress(sending_.spin, kind)) return false;
  }
  const std::uint64_t last = pair_.posted();
  while (use == Use::kCopied && !is_copied && pair_.completed() < last) {
    if (!await_progress(sending_.spin, Completions::kAll)) return false;
  }
  return !is_over();
}

std::size_t RdmaChannel::take_skip(std::uint64_t transfer, std::size_t left) {
  if (sending_.skip.transfer != transfer) return 0;
  return std::min<std::uint64_t>(left, std::exchange(sending_.skip.size, 0));
}

bool RdmaChannel::may_write(std::uint64_t transfer, bool is_copied) {
  if (grant_of(transfer) == nullptr || !may_post()) return false;
  if (bytes_sent() - completed() >= kUnderWayMax) return false;
  return !is_copied || sending_.staged[sending_.next_staged] <= pair_.completed();
}

// Writes to the known destination at the peer. Returns 0 at the end.
std::size_t RdmaChannel::write_piece(std::uint64_t transfer, const RdmaSource& source) {
  if (is_over()) return 0;
  Grant& grant = *grant_of(transfer);
  const std::size_t limit = source.registration == nullptr ? kStagingBytes : kPieceBytes;
  const Bytes piece = source.bytes.first(std::min<std::uint64_t>({source.bytes.size(), grant.left, limit}));
  const RdmaSource from = source.registration == nullptr ? staged(piece) : RdmaSource{piece, source.registration};
  if (from.registration == nullptr) return 0;
  const auto slot = static_cast<std::uint32_t>(&grant - sending_.grants.data());
  if (!pair_.write(from.bytes, *from.registration, grant.address, grant.key, slot)) {
    end("the queue pair takes no write");
    return 0;
  }
  if (source.registration == nullptr) {
    sending_.staged[sending_.next_staged] = pair_.posted();
    sending_.next_staged = (sending_.next_staged + 1) % sending_.staged.size();
  }
  grant.address += piece.size();
  grant.left -= piece.size();
  credits_.note_sent();
  counted_.sent.fetch_add(piece.size(), std::memory_order_relaxed);
  note_posted();
  return piece.size();
}

// Copies the bytes. The result has no registration if there is no memory for it.
RdmaSource RdmaChannel::staged(Bytes bytes) {
  if (sending_.staging == nullptr) {
    try {
      sending_.staging = std::make_unique<OwnMemory>(domain_, sending_.staged.size() * kStagingBytes);
    } catch (const std::exception& error) {
      end(error.what());
      return {};
    }
  }
  const MutableBytes staged = sending_.staging->bytes().subspan(sending_.next_staged * kStagingBytes, bytes.size());
  std::memcpy(staged.data(), bytes.data(), bytes.size());
  counted_.copied.fetch_add(bytes.size(), std::memory_order_relaxed);
  return {staged, &sending_.staging->registration()};
}

void RdmaChannel::reclaim(std::uint64_t position) {
  const MutexLock lock(mutex_);
  drain();
  WaitPolicy spin;
  while (completed() < position) {
    if (!await_progress(spin, Completions::kAll)) return await_flush(position, QueuePair::kReceives);
  }
}

// Waits, after the end, until the device has completed what was sent before `position`, and all but `receives` of the
// buffers to receive into. It no longer reads the memory of what is completed.
void RdmaChannel::await_flush(std::uint64_t position, unsigned receives) {
  const auto deadline = std::chrono::steady_clock::now() + kFlushTimeMax;
  const int handle = pair_.handle();
  for (bool is_last = false; !is_last;) {
    is_last = std::chrono::steady_clock::now() >= deadline;
    pair_.take_event(true);
    pair_.arm(Completions::kAll);
    drain();
    if (is_last || (completed() >= position && pair_.receives() <= receives)) return;
    mutex_.unlock();
    domain_->note_system_call();
    pollfd waiting{handle, POLLIN, 0};
    ::poll(&waiting, 1, kFlushLookMs);
    mutex_.lock();
  }
}

}  // namespace remotecl
