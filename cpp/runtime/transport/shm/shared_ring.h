#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/bytes.h"
#include "runtime/transport/threads/helper_threads.h"

namespace remotecl {

// How a side of a ring that has nothing to do waits, so that the other side knows how to wake it. A side that
// is awake is not woken.
enum class RingSleep : std::uint32_t { kAwake, kOnFutex, kOnDoorbell };

// The words of a ring, which both processes access. Any of them may change to anything at any time, because
// the peer may be malicious. Indices count bytes from the start and never wrap.
struct RingWords {
  alignas(64) std::atomic<std::uint64_t> written;        // set by the writer
  alignas(64) std::atomic<std::uint64_t> taken;          // set by the reader
  alignas(64) std::atomic<std::uint32_t> reader_sleeps;  // a RingSleep and a futex
  alignas(64) std::atomic<std::uint32_t> writer_sleeps;  // likewise
  std::atomic<std::uint32_t> ended;                      // set by the writer's side, which no longer writes or reads
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// The writing end of a ring whose size is a power of two. One thread. Keeps its own index in private memory,
// and checks the reader's for plausibility.
class RingWriter {
 public:
  RingWriter(RingWords& words, MutableBytes memory) : words_(words), memory_(memory) {}

  // Copies as much as there is room for; the reader sees it after publish().
  std::size_t put(Bytes from);
  void publish();
  std::size_t unpublished() const { return static_cast<std::size_t>(written_ - published_); }
  // Looks at the reader's index.
  bool has_room();
  bool sound() const { return sound_; }  // false: the reader's index was impossible, so nothing fits any more

 private:
  std::size_t room() const { return memory_.size() - static_cast<std::size_t>(written_ - taken_); }
  void look();

  RingWords& words_;
  const MutableBytes memory_;
  HelperThreads copiers_{1};
  std::uint64_t written_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t taken_ = 0;  // as last seen
  bool sound_ = true;
};

// The reading end. One thread.
class RingReader {
 public:
  RingReader(RingWords& words, Bytes memory) : words_(words), memory_(memory) {}

  // Copies at most to.size() bytes and frees their room for the writer.
  std::size_t take(MutableBytes to);
  // Looks at the writer's index.
  bool has_data();
  // Whether the writer has at least half of the ring free, as far as this end knows.
  bool half_empty() const { return written_ - taken_ <= memory_.size() / 2; }
  bool sound() const { return sound_; }  // false: the writer's index was impossible, so nothing more comes

 private:
  std::size_t available() const { return static_cast<std::size_t>(written_ - taken_); }
  void look();

  RingWords& words_;
  const Bytes memory_;
  HelperThreads copiers_{1};
  std::uint64_t taken_ = 0;
  std::uint64_t written_ = 0;  // as last seen
  bool sound_ = true;
};

}  // namespace remotecl
