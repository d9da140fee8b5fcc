#include "runtime/transport/shm/shared_ring.h"

#include <algorithm>

namespace remotecl {

// Indices and sleep words are accessed in one total order (seq_cst). A thread that goes to sleep sets its
// sleep word and then looks at the index; a thread that moves an index does so and then looks for a sleeper.
// So one of them sees the other.

std::size_t RingWriter::put(Bytes from) {
  if (room() < from.size()) look();
  const std::size_t count = sound_ ? std::min(from.size(), room()) : 0;
  const std::size_t at = static_cast<std::size_t>(written_) & (memory_.size() - 1);
  const std::size_t until_edge = std::min(count, memory_.size() - at);
  copiers_.copy(memory_.subspan(at), from.first(until_edge));
  copiers_.copy(memory_, from.subspan(until_edge, count - until_edge));
  written_ += count;
  return count;
}

void RingWriter::publish() {
  words_.written.store(written_, std::memory_order_seq_cst);
  published_ = written_;
}

bool RingWriter::has_room() {
  look();
  return sound_ && room() != 0;
}

void RingWriter::look() {
  const std::uint64_t taken = words_.taken.load(std::memory_order_seq_cst);
  if (taken - taken_ > published_ - taken_) {
    sound_ = false;
    return;
  }
  taken_ = taken;
}

std::size_t RingReader::take(MutableBytes to) {
  if (available() < to.size()) look();
  const std::size_t count = sound_ ? std::min(to.size(), available()) : 0;
  if (count == 0) return 0;
  const std::size_t at = static_cast<std::size_t>(taken_) & (memory_.size() - 1);
  const std::size_t until_edge = std::min(count, memory_.size() - at);
  copiers_.copy(to, memory_.subspan(at, until_edge));
  copiers_.copy(to.subspan(until_edge), memory_.first(count - until_edge));
  taken_ += count;
  words_.taken.store(taken_, std::memory_order_seq_cst);
  return count;
}

bool RingReader::has_data() {
  look();
  return sound_ && available() != 0;
}

void RingReader::look() {
  const std::uint64_t written = words_.written.load(std::memory_order_seq_cst);
  if (written - written_ > memory_.size() - (written_ - taken_)) {
    sound_ = false;
    return;
  }
  written_ = written;
}

}  // namespace remotecl
