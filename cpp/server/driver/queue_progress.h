#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// How many commands a queue was given, and how many the driver has finished. Any thread may read it and call
// ended(), even a driver's callback; everything else needs the session's lock.
class QueueProgress final : public RefCounted {
 public:
  // `session`: whose queue it is.
  explicit QueueProgress(std::uint64_t session = 0) : session_(session) {}

  std::uint64_t session() const { return session_; }

  // Counts one native command.
  void issue() { issued_.store(issued() + 1, std::memory_order_relaxed); }
  std::uint64_t issued() const { return issued_.load(std::memory_order_relaxed); }

  // Counts one kernel that the client's scheduler has placed on the queue's device.
  void count_placed() { placed_.store(placed() + 1, std::memory_order_relaxed); }
  std::uint64_t placed() const { return placed_.load(std::memory_order_relaxed); }

  // All native commands up to this count have ended.
  void ended(std::uint64_t count) {
    std::uint64_t known = ended_.load(std::memory_order_relaxed);
    while (known < count && !ended_.compare_exchange_weak(known, count, std::memory_order_release)) {
    }
  }
  std::uint64_t ended() const { return ended_.load(std::memory_order_acquire); }

  // An event of a Finish behind `count` commands has failed, and so has the event of the command at `known`, the newest
  // such (0: none). Returns whether that does not say all: a command without an event has failed, and no Finish has
  // said so. On a queue in order, a failed command fails what follows it up to that event.
  bool take_failure(std::uint64_t count, std::uint64_t known, bool in_order) {
    const bool is_explained = in_order ? known >= count : known > told_;
    const bool is_new = !is_explained && count > told_;
    told_ = std::max(told_, is_new ? count : known);
    return is_new;
  }

  // Commands that the driver does not have yet, because they wait for events or move bulk data.
  void hold() { held_.fetch_add(1, std::memory_order_relaxed); }
  void release_hold() { held_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint64_t held() const { return held_.load(std::memory_order_relaxed); }

  // Marks that somebody is finding out when its present commands end. Returns true if it was marked already.
  bool begin_search() { return searched_.exchange(true, std::memory_order_relaxed); }
  void end_search() { searched_.store(false, std::memory_order_relaxed); }

 private:
  const std::uint64_t session_;
  std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> placed_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> held_{0};
  std::atomic<bool> searched_{false};
  std::uint64_t told_ = 0;  // a Finish has told of the failures of commands up to this one; needs the session's lock
};

}  // namespace remotecl::server
