#pragma once

#include <cstdint>
#include <string_view>

namespace remotecl {

// What carries bytes between two processes. The numbers are those of CommandTraced.
enum class TransportKind : std::uint32_t { kNone, kTcp, kTls, kSharedMemory, kRdma };

// "tcp", "tls", "shm" or "rdma"; empty for kNone and for a number that means nothing.
constexpr std::string_view name_of(TransportKind kind) {
  switch (kind) {
    case TransportKind::kTcp:
      return "tcp";
    case TransportKind::kTls:
      return "tls";
    case TransportKind::kSharedMemory:
      return "shm";
    case TransportKind::kRdma:
      return "rdma";
    default:
      return {};
  }
}

}  // namespace remotecl
