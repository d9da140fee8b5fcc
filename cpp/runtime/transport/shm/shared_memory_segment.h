#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/base/bytes.h"
#include "runtime/protocol/sizes.h"
#include "runtime/transport/shm/shared_ring.h"

namespace remotecl {

// The offer of a piece of memory, which one process sends to another over their connection.
struct SharedMemoryOffer {
  std::uint32_t process = 0;
  std::uint32_t descriptor = 0;
  std::uint64_t cookie = 0;
};

// Memory that two processes of one host share: two byte rings, one for each direction. No other process can
// open it, it has no name in any folder, and it disappears with the last of the two processes, however that
// ends. Owned by one connection.
//
//   one process                          the other process
//   create(), sends offer()      ->      open(offer): null (another host, container or user) is normal
//   confirm(answer)              <-      sends answer()
class SharedMemorySegment {
 public:
  static constexpr std::size_t kRingBytes = kSharedRing;
  static constexpr std::size_t kRingBytesMin = 4096;
  static constexpr std::size_t kRingBytesMax = 16u << 20;

  // Returns null if the system has no memory. `ring_bytes`: the size of each ring, a power of two within the
  // bounds.
  static std::unique_ptr<SharedMemorySegment> create(std::size_t ring_bytes = kRingBytes);
  // Returns null unless the offer leads to memory that its maker created and that no other process has
  // opened.
  static std::unique_ptr<SharedMemorySegment> open(const SharedMemoryOffer& offer);
  // Returns a descriptor of what open() would open, on behalf of another process that may not look for it
  // itself; -1 if there is none. The cookie proves that the process got the offer, so it cannot reach memory
  // that was offered to others.
  static int find(const SharedMemoryOffer& offer);
  // Lets open() get its descriptors from elsewhere. Must be called before other threads run.
  static void find_through(std::function<int(const SharedMemoryOffer&)> finder);
  ~SharedMemorySegment();
  SharedMemorySegment(const SharedMemorySegment&) = delete;
  SharedMemorySegment& operator=(const SharedMemorySegment&) = delete;

  const SharedMemoryOffer& offer() const { return offer_; }  // for the creator
  std::uint64_t answer() const { return answer_; }           // for the opener
  // The creator's last step. Returns true if the peer that answers has seen this memory. From then on nobody
  // can open it.
  bool confirm(std::uint64_t answer);

  // The peer's process, as the peer states it. Valid once both have seen the memory.
  std::uint32_t peer_process() const;

  // The ring that this side writes, and the one that it reads.
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
  int descriptor_ = -1;  // the creator's, until it has confirmed
  SharedMemoryOffer offer_;
  std::uint64_t answer_ = 0;
};

}  // namespace remotecl
