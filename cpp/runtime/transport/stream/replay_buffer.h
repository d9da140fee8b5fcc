#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/base/bytes.h"

namespace remotecl {

// The end of a stream of bytes: what has been sent and may have to be sent again. Positions count from the stream's
// begin. A value: one owner, one thread at a time.
class ReplayBuffer {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::uint64_t size() const { return end_ - begin_; }
  // Memory that copies take, about.
  std::uint64_t owned() const { return owned_; }

  // Keeps a copy.
  void append(Bytes bytes);
  // Keeps only where they are: they stay as they are until they are owned or dropped.
  void lend(Bytes bytes);
  // Copies what is lent of the bytes before this position.
  void own_lent(std::uint64_t end);
  // Nothing before this position is needed any more.
  void drop_until(std::uint64_t position);
  // The bytes from this position on that lie behind each other in memory; at least one unless it is the end.
  Bytes at(std::uint64_t position) const;

 private:
  static constexpr std::size_t kBlockSize = 64u << 10;
  static constexpr std::size_t kSparesMax = 32;  // new memory is slow

  // Owned if it has a block.
  struct Segment {
    std::uint64_t begin;
    std::size_t size;
    const std::byte* data;
    std::unique_ptr<std::byte[]> block;
    std::size_t capacity;
  };

  Segment own(std::uint64_t begin, std::size_t capacity);

  std::uint64_t begin_ = 0, end_ = 0, owned_ = 0;
  std::deque<Segment> segments_;
  std::size_t lent_ = 0;  // segments
  std::vector<std::unique_ptr<std::byte[]>> spares_;
};

}  // namespace remotecl
