#include "runtime/client/upload/upload_offer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/protocol/sizes.h"

namespace remotecl {
namespace {

// Two offers are on the way or being sent for, so that the link is not idle while the server looks.
constexpr std::uint32_t kUnansweredMax = 2;
constexpr std::uint64_t kMeasured = 1u << 20;
// Chunks of an offer: few while nothing is known of the link, because it may be fast.
constexpr std::uint64_t kFirstChunks = 4, kChunks = 32;
static_assert(kUnansweredMax * kChunks <= kPendingChunksMax && kChunks <= kOfferedChunksMax);

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
  const std::uint64_t chunks = link_.is_unknown() && !has_found_ ? kFirstChunks : kChunks;
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
  if (chunk == Chunk::kOffered) {
    is_awaited_ = true;
    marked_ = {};
    return {Action::kAwait, at_, 0};
  }
  const bool is_plain = chunk == Chunk::kNew;
  const std::uint64_t size = is_plain ? std::min<std::uint64_t>(kBulkChunkMax, size_ - at_) : size_at(at_);
  const Step step{chunk == Chunk::kFound ? Action::kSkip : Action::kSend, at_, size};
  at_ += size;
  return step;
}

void UploadOffer::add_digest(std::uint64_t offset, std::vector<std::byte>& digests) {
  const Bytes bytes(memory_ + offset, size_at(offset));
  const auto begun = UploadLink::Clock::now();
  const Digest digest = sha256(bytes);
  link_.hashed(bytes.size(), UploadLink::Clock::now() - begun);
  const Bytes added = std::as_bytes(std::span(digest));
  digests.insert(digests.end(), added.begin(), added.end());
}

void UploadOffer::arrived(std::uint64_t position, bool pauses) {
  const auto now = UploadLink::Clock::now();
  if (marked_ != UploadLink::Clock::time_point() && position - mark_ >= kMeasured) {
    link_.sent(position - mark_, now - marked_);
    marked_ = {};
  }
  if (pauses) {
    marked_ = {};
  } else if (marked_ == UploadLink::Clock::time_point()) {
    mark_ = position;
    marked_ = now;
  }
}

bool UploadOffer::is_answered() const {
  const MutexLock lock(mutex_);
  return !is_awaited_;
}

UploadOffer::Effect UploadOffer::take_reply(std::uint64_t offset, Bytes found, bool keeps) {
  std::uint64_t there = 0, missing = 0;
  const MutexLock lock(mutex_);
  const std::uint64_t first = offset / kUploadChunk;
  if (unanswered_ == 0 || offset % kUploadChunk != 0 || first > chunks_.size() || found.empty() ||
      found.size() > chunks_.size() - first) {
    return Effect::kImpossible;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    Chunk& chunk = chunks_[first + i];
    if (chunk != Chunk::kOffered) return Effect::kImpossible;
    const bool is_there = found[i] != std::byte{};
    chunk = is_there ? Chunk::kFound : Chunk::kMissing;
    (is_there ? there : missing) += size_at(offset + i * kUploadChunk);
  }
  --unanswered_;
  has_found_ = has_found_ || there != 0;
  link_.answered(there, missing, keeps);
  return std::exchange(is_awaited_, false) ? Effect::kAwaited : Effect::kTaken;
}

}  // namespace remotecl
