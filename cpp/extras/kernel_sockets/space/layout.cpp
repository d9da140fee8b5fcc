#include "extras/kernel_sockets/space/layout.h"

namespace remotecl::server {
namespace {

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t step) { return (value + step - 1) / step * step; }

}  // namespace

SpaceLayout::SpaceLayout(const SpaceShape& shape) {
  const std::uint32_t array = round_up(4 * shape.sockets, layout::kLineSize);
  claims = layout::kHeaderSize;
  requests = claims + array;
  send_tails = requests + array;
  receive_heads = send_tails + array;
  lines = receive_heads + array;
  areas = lines + layout::kLineSize * shape.sockets;
  rings = round_up(areas + layout::kRequestSize * shape.sockets, 4096);
  size = rings + 2ull * shape.sockets * shape.ring_bytes;
}

std::uint64_t SpaceShape::memory_size() const { return SpaceLayout(*this).size; }

}  // namespace remotecl::server
