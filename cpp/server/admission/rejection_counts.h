#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace remotecl::server {

// Why a connection was refused.
enum class Refusal : std::uint8_t {
  kVersion,
  kBusy,
  kUnknownSession,
  kTokenNeeded,
  kWrongToken,
  kDraining,
  kSessions,
  kNoDevice
};

// How many connections were refused since the daemon started, by reason. Any thread.
class RejectionCounts {
 public:
  static constexpr std::array<std::string_view, 8> kNames = {
      "version", "busy", "unknown_session", "token_needed", "wrong_token", "draining", "sessions", "no_device"};

  void count(Refusal why) { counts_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t count_of(std::size_t why) const { return counts_[why].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, kNames.size()> counts_{};
};

}  // namespace remotecl::server
