#include "runtime/transport/stream/replay_buffer.h"

#include <algorithm>

namespace remotecl {

ReplayBuffer::Segment ReplayBuffer::own(std::uint64_t begin, std::size_t capacity) {
  capacity = std::max(capacity, kBlockSize);
  std::unique_ptr<std::byte[]> block;
  if (capacity == kBlockSize && !spares_.empty()) {
    block = std::move(spares_.back());
    spares_.pop_back();
  } else {
    block = std::make_unique_for_overwrite<std::byte[]>(capacity);
  }
  const std::byte* const data = block.get();
  return {begin, 0, data, std::move(block), capacity};
}

void ReplayBuffer::append(Bytes bytes) {
  while (!bytes.empty()) {
    if (segments_.empty() || segments_.back().size == segments_.back().capacity) {
      segments_.push_back(own(end_, kBlockSize));
    }
    Segment& last = segments_.back();
    const std::size_t size = std::min(bytes.size(), last.capacity - last.size);
    std::memcpy(last.block.get() + last.size, bytes.data(), size);
    last.size += size;
    end_ += size;
    owned_ += size;
    bytes = bytes.subspan(size);
  }
}

void ReplayBuffer::borrow(Bytes bytes) {
  if (bytes.empty()) return;
  segments_.push_back({end_, bytes.size(), bytes.data(), nullptr, bytes.size()});
  end_ += bytes.size();
  ++borrowed_;
}

void ReplayBuffer::own_borrowed(std::uint64_t end, AcknowledgedBytes& acknowledged) {
  if (borrowed_ == 0) return;
  for (Segment& segment : segments_) {
    if (segment.begin >= end) break;
    if (segment.block) continue;
    acknowledged.unless_reached(segment.begin + segment.size, [&] { copy(segment); });
  }
}

void ReplayBuffer::copy(Segment& segment) {
  const std::uint64_t dropped = begin_ > segment.begin ? begin_ - segment.begin : 0;
  const std::size_t size = segment.size - static_cast<std::size_t>(dropped);
  Segment copy = own(segment.begin + dropped, size);
  std::memcpy(copy.block.get(), segment.data + dropped, size);
  copy.size = size;
  owned_ += size;
  segment = std::move(copy);
  --borrowed_;
}

void ReplayBuffer::drop_until(std::uint64_t position) {
  if (position <= begin_) return;
  begin_ = std::min(position, end_);
  while (!segments_.empty()) {
    Segment& first = segments_.front();
    if (first.begin + first.size > begin_) return;
    first.block ? owned_ -= first.size : --borrowed_;
    // A segment with room is reused.
    if (segments_.size() == 1 && first.block && first.capacity == kBlockSize) {
      first.begin = end_;
      first.size = 0;
      return;
    }
    if (first.block && first.capacity == kBlockSize && spares_.size() < kSparesMax) {
      spares_.push_back(std::move(first.block));
    }
    segments_.pop_front();
  }
}

Bytes ReplayBuffer::at(std::uint64_t position) const {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), position,
                                      [](std::uint64_t at, const Segment& segment) { return at < segment.begin; });
  if (after == segments_.begin()) return {};
  const Segment& segment = *std::prev(after);
  const auto offset = static_cast<std::size_t>(position - segment.begin);
  return {segment.data + offset, segment.size - offset};
}

}  // namespace remotecl
