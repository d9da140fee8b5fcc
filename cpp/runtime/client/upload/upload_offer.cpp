#include "runtime/client/upload/upload_offer.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <span>
#include <utility>

#include "runtime/protocol/sizes.h"

namespace remotecl {
namespace {

// Two offers are on the way or being sent for, so that the link is not idle while the server looks.
constexpr std::uint32_t kUnansweredMax = 2;
// Chunks of an offer: few while the server finds nothing, because they are hashed between two chunks that are sent.
constexpr std::uint64_t kFewChunks = 2, kChunks = 32;
static_assert(kUnansweredMax * kChunks <= kPendingChunksMax && kChunks <= kOfferedChunksMax);

// What the thread itself has taken, because a busy machine does not make hashing slower than sending.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

std::uint64_t UploadOffer::size_at(std::uint64_t offset) const {
  return std::min<std::uint64_t>(kUploadChunk, size_ - offset);
}

UploadOffer::Chunk UploadOffer::chunk_at(std::uint64_t offset) const {
  const std::uint64_t index = offset / kUploadChunk;
  return index < chunks_.size() ? chunks_[index] : Chunk::kNew;
}

UploadOffer::Step UploadOffer::next() {
  const MutexLock lock(mutex_);
  const std::uint64_t offered = std::max(chunks_.size() * kUploadChunk, at_);
  const std::uint64_t chunks = is_awaiting_worthwhile() ? kChunks : kFewChunks;
  // Offers that the server has answered count until their bytes are sent, because the server keeps files open for them.
  const bool has_room = unanswered_ < kUnansweredMax && offered - at_ <= chunks * kUploadChunk;
  if (offered < size_ && has_room && link_.is_worthwhile()) {
    const std::uint64_t size = std::min(chunks * kUploadChunk, size_ - offered);
    chunks_.resize(offered / kUploadChunk, Chunk::kNew);
    chunks_.resize((offered + size + kUploadChunk - 1) / kUploadChunk, Chunk::kOffered);
    ++unanswered_;
    return {Action::kOffer, offered, size};
  }
  const Chunk chunk = chunk_at(at_);
  if (chunk == Chunk::kOffered && is_awaiting_worthwhile()) {
    is_awaited_ = true;
    return {Action::kAwait, at_, 0};
  }
  // Where nothing is offered, chunks are as large as without offers once the link is known.
  const bool is_large = chunk == Chunk::kNew && link_.speed() == UploadLink::Speed::kFast;
  const std::uint64_t size = is_large ? std::min<std::uint64_t>(kBulkChunkMax, size_ - at_) : size_at(at_);
  if (chunk == Chunk::kFound) has_skipped_ = true;
  const Step step{chunk == Chunk::kFound ? Action::kSkip : Action::kSend, at_, size};
  at_ += size;
  return step;
}

void UploadOffer::add_digest(std::uint64_t offset, std::vector<std::byte>& digests) {
  const Bytes bytes(memory_ + offset, size_at(offset));
  const auto begun = processor_time();
  const Digest digest = sha256(bytes);
  link_.hashed(bytes.size(), processor_time() - begun);
  const Bytes added = std::as_bytes(std::span(digest));
  digests.insert(digests.end(), added.begin(), added.end());
}

void UploadOffer::delivered(const Connection::Delivered& now) {
  // A new connection counts from zero.
  if (delivered_ && now.bytes >= delivered_->bytes && now.seconds_in_all >= delivered_->seconds_in_all) {
    link_.sent(now.bytes - delivered_->bytes, now.seconds_in_all - delivered_->seconds_in_all);
  }
  delivered_ = now;
}

bool UploadOffer::is_answered() const {
  const MutexLock lock(mutex_);
  return !is_awaited_;
}

UploadOffer::Effect UploadOffer::take_reply(std::uint64_t offset, Bytes found, bool keeps) {
  const MutexLock lock(mutex_);
  const std::uint64_t first = offset / kUploadChunk;
  if (unanswered_ == 0 || offset % kUploadChunk != 0 || first > chunks_.size() || found.empty() ||
      found.size() > chunks_.size() - first) {
    return Effect::kImpossible;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    Chunk& chunk = chunks_[first + i];
    if (chunk != Chunk::kOffered) return Effect::kImpossible;
    chunk = found[i] != std::byte{} ? Chunk::kFound : Chunk::kMissing;
  }
  --unanswered_;
  has_just_found_ = std::ranges::any_of(found, [](std::byte each) { return each != std::byte{}; });
  link_.answered(keeps);
  return std::exchange(is_awaited_, false) ? Effect::kAwaited : Effect::kTaken;
}

}  // namespace remotecl
