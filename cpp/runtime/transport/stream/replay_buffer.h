#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/transport/stream/acknowledged_bytes.h"

namespace remotecl {

// The tail of a byte stream: what has been sent and may have to be sent again. Positions count from the
// stream's beginning. A value: one owner, one thread at a time.
class ReplayBuffer {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::uint64_t size() const { return end_ - begin_; }
  // The approximate memory that copies use.
  std::uint64_t owned() const { return owned_; }

  // Keeps a copy.
  void append(Bytes bytes);
  // Borrows the bytes, which must not change until they are owned or dropped.
  void borrow(Bytes bytes);
  // Copies the borrowed bytes before this position that have not been acknowledged.
  void own_borrowed(std::uint64_t end, AcknowledgedBytes& acknowledged);
  // Bytes before this position are no longer needed.
  void drop_until(std::uint64_t position);
  // Returns bytes from this position that are contiguous in memory; at least one, unless it is the end.
  Bytes at(std::uint64_t position) const;

 private:
  static constexpr std::size_t kBlockSize = 64u << 10;
  static constexpr std::size_t kSparesMax = 32;  // allocating memory is slow

  // Owned if it has a block.
  struct Segment {
    std::uint64_t begin;
    std::size_t size;
    const std::byte* data;
    std::unique_ptr<std::byte[]> block;
    std::size_t capacity;
  };

  Segment own(std::uint64_t begin, std::size_t capacity);
  void copy(Segment& segment);

  std::uint64_t begin_ = 0, end_ = 0, owned_ = 0;
  std::deque<Segment> segments_;
  std::size_t borrowed_ = 0;  // number of borrowed segments
  std::vector<std::unique_ptr<std::byte[]>> spares_;
};

}  // namespace remotecl
