#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "runtime/base/mutex.h"

namespace remotecl {

// How fast bytes pass between this process and one server, each way, measured by the large transfers that the program
// makes anyway. Transfers that overlap share the link, so what counts is the bytes that have arrived while any of them
// was under way. Any thread.
class LinkMeter {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Way : std::uint8_t { kUp, kDown };  // to the server, from it

  // The time of a smaller transfer says more about latency and buffers than about the link.
  static constexpr std::uint64_t kBytesMin = 4u << 20;

  // Bytes begin to move.
  void begin(Way way, Clock::time_point now = Clock::now()) EXCLUDES(mutex_);
  // All `bytes` of such a transfer have arrived; 0: it has failed.
  void end(Way way, std::uint64_t bytes, Clock::time_point now = Clock::now()) EXCLUDES(mutex_);
  // 0: not measured.
  double bytes_per_s(Way way) const { return rates_[index(way)].load(std::memory_order_relaxed); }

 private:
  // A measurement that took longer than this is reliable, because it hardly matters how late a message is read.
  static constexpr std::chrono::duration<double> kSure{0.2};
  // After this many bytes a measurement is made even if the link is never idle.
  static constexpr std::uint64_t kBytesMax = 64u << 20;

  // While something is under way.
  struct Period {
    unsigned under_way = 0;
    bool has_failed = false;
    std::uint64_t bytes = 0;
    Clock::time_point since;
  };

  static std::size_t index(Way way) { return static_cast<std::size_t>(way); }
  void measured(Way way, double bytes_per_s, bool is_sure);

  Mutex mutex_;
  std::array<Period, 2> periods_ GUARDED_BY(mutex_);
  std::array<std::atomic<double>, 2> rates_{};
};

}  // namespace remotecl
