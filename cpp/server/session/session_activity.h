#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace remotecl::server {

// Which sessions of this process have had something to do lately: where there are few cores, bulk data of the others
// then leaves one of them free. Owned by the sessions' host; any thread.
class SessionActivity {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SessionActivity(unsigned cores = std::thread::hardware_concurrency(),
                           Clock::time_point (*clock)() = &Clock::now)
      : is_of_use_(cores <= kCoresMax), clock_(clock) {}

  void add_session() { sessions_.fetch_add(1, std::memory_order_relaxed); }
  void remove_session() { sessions_.fetch_sub(1, std::memory_order_relaxed); }

  // The session has something to do.
  void note(std::uint64_t session) {
    if (is_watched()) last_[slot(session)].store(now(), std::memory_order_relaxed);
  }
  // Whether others had, within the last kLately. Now and then it takes another session for this one.
  bool others(std::uint64_t session) const {
    if (!is_watched()) return false;
    const auto since = now() - Clock::duration(kLately).count();
    for (std::size_t i = 0; i < kSlots; ++i) {
      if (i != slot(session) && last_[i].load(std::memory_order_relaxed) > since) return true;
    }
    return false;
  }

 private:
  // A copy from process to process keeps two cores busy, or four where helpers take part.
  static constexpr unsigned kCoresMax = 4;
  static constexpr std::chrono::milliseconds kLately{50};
  static constexpr std::size_t kSlots = 64;

  static std::size_t slot(std::uint64_t session) { return session % kSlots; }
  Clock::rep now() const { return clock_().time_since_epoch().count(); }
  bool is_watched() const { return is_of_use_ && sessions_.load(std::memory_order_relaxed) > 1; }

  const bool is_of_use_;
  Clock::time_point (*const clock_)();
  std::atomic<std::size_t> sessions_{0};
  std::array<std::atomic<Clock::rep>, kSlots> last_{};
};

}  // namespace remotecl::server
