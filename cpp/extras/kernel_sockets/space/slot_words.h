#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "extras/kernel_sockets/space/layout.h"
#include "extras/kernel_sockets/space/rings.h"

namespace remotecl::server {

// One socket's part of the shared memory. A value; used by one proxy thread.
class SlotWords {
 public:
  SlotWords(std::byte* memory, const SpaceShape& shape, const SpaceLayout& layout, std::uint64_t index)
      : request_(memory + layout.requests + 4 * index),
        send_tail_(memory + layout.send_tails + 4 * index),
        receive_head_(memory + layout.receive_heads + 4 * index),
        line_(memory + layout.lines + layout::kLineSize * index),
        area_(memory + layout.areas + layout::kRequestSize * index),
        rings_(memory + layout.rings + 2 * index * shape.ring_bytes) {}

  // The kernels' words: anything may be in them.
  std::uint32_t request() const { return load_shared(request_); }
  std::uint32_t send_tail() const { return load_shared(send_tail_); }
  std::uint32_t receive_head() const { return load_shared(receive_head_); }
  std::uint32_t argument(layout::Request at) const { return load_shared(area_ + at); }
  const std::byte* text() const { return area_ + layout::kTextOffset; }
  // The host's, which it only writes.
  void publish(layout::Line at, std::uint32_t value) const { store_shared(line_ + 4ull * at, value); }

  // Writes both at once, so that nobody sees one generation with the state of another.
  void publish_state(std::uint32_t state, std::uint32_t generation) const {
    static_assert(layout::kState % 2 == 0 && layout::kGeneration == layout::kState + 1);
    static_assert(std::endian::native == std::endian::little);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(line_ + 4ull * layout::kState))
        .store(std::uint64_t{generation} << 32 | state, std::memory_order_release);
  }

  SendRing send_ring(std::uint32_t size) const { return SendRing(RingBytes(rings_, size)); }
  ReceiveRing receive_ring(std::uint32_t size) const { return ReceiveRing(RingBytes(rings_ + size, size)); }

 private:
  std::byte *request_, *send_tail_, *receive_head_, *line_, *area_, *rings_;
};

}  // namespace remotecl::server
