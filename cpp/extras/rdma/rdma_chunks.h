#pragma once

#include <cstddef>

#include "extras/rdma/rdma_channel.h"

namespace remotecl::rdma {

// Smaller chunks go by the stream: their header would cost as much as they do. A transfer's last chunk may be smaller.
inline constexpr std::size_t kChunkMin = 32u << 10;
// How many chunks may be sent by RDMA and not delivered, so that a receiver that waits for bytes of one knows how many
// headers can come meanwhile.
inline constexpr std::size_t kChunksAheadMax = 256;

}  // namespace remotecl::rdma
