#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/base/bytes.h"
#include "runtime/transport/shm/shared_ring.h"

namespace remotecl {

// What one process sends to another, over a connection that they have, to offer it a piece of memory.
struct SharedMemoryOffer {
  std::uint32_t process = 0;
  std::uint32_t descriptor = 0;
  std::uint64_t cookie = 0;
};

// Memory that two processes of one host share: two byte rings, one for each direction. Nobody else can open it, it has
// no name in any folder, and it is gone with the last of the two processes, however that ends. Owned by one connection.
//
//   the one process                      the other
//   create(), sends offer()      ->      open(offer): null is a normal answer (another host, container or user)
//   confirm(answer)              <-      sends answer()
class SharedMemorySegment {
 public:
  static constexpr std::size_t kRingBytes = 2u << 20;
  static constexpr std::size_t kRingBytesMin = 4096;
  static constexpr std::size_t kRingBytesMax = 16u << 20;

  // Null when the system does not give any. The size is that of each ring, a power of two within the bounds.
  static std::unique_ptr<SharedMemorySegment> create(std::size_t ring_bytes = kRingBytes);
  // Null when the offer does not lead to memory of its maker, that nobody else has opened.
  static std::unique_ptr<SharedMemorySegment> open(const SharedMemoryOffer& offer);
  // A descriptor of what open() would open, for another process that may not look for it itself; -1: there is none.
  // Whoever made the offer has told its cookie, so nobody gets at memory that was offered to somebody else.
  static int find(const SharedMemoryOffer& offer);
  // Makes open() get its descriptors elsewhere. Before other threads.
  static void find_through(std::function<int(const SharedMemoryOffer&)> finder);
  ~SharedMemorySegment();
  SharedMemorySegment(const SharedMemorySegment&) = delete;
  SharedMemorySegment& operator=(const SharedMemorySegment&) = delete;

  const SharedMemoryOffer& offer() const { return offer_; }  // of the creator
  std::uint64_t answer() const { return answer_; }           // of the opener
  // The creator's last step: true when who answers did see this memory. From then on nobody can open it.
  bool confirm(std::uint64_t answer);

  // Of the other side, as it says. Once both have seen the memory.
  std::uint32_t peer_process() const;

  // The ring into which this side writes, and the one from which it reads.
  RingWords& out_words() const;
  RingWords& in_words() const;
  MutableBytes out_memory() const { return ring_memory(creator_ ? 0 : 1); }
  MutableBytes in_memory() const { return ring_memory(creator_ ? 1 : 0); }

 private:
  struct Header;

  SharedMemorySegment(bool creator, std::byte* memory, std::size_t ring_bytes);
  static std::byte* map(int descriptor, std::size_t size);
  static std::size_t size_of(std::size_t ring_bytes);
  Header& header() const;
  MutableBytes ring_memory(std::size_t index) const;
  void close_descriptor();

  const bool creator_;
  std::byte* const memory_;
  const std::size_t ring_bytes_;
  int descriptor_ = -1;  // the creator's until it has confirmed
  SharedMemoryOffer offer_;
  std::uint64_t answer_ = 0;
};

}  // namespace remotecl
