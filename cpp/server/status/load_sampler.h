#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "runtime/base/stoppable_thread.h"
#include "server/driver/native_driver.h"

namespace remotecl::server {

// Samples the devices' load while somebody asks for it, so that an unwatched daemon does nothing. Owned by
// the daemon's StatusCollector; any thread.
class LoadSampler {
 public:
  static constexpr std::chrono::seconds kPatience{5};

  // `find_ends` is called now and then on the sampler's thread, to find out how much of the busy queues' work
  // has ended.
  LoadSampler(const NativeDriver& driver, std::function<void()> find_ends)
      : driver_(driver), find_ends_(std::move(find_ends)) {}
  LoadSampler(const LoadSampler&) = delete;
  LoadSampler& operator=(const LoadSampler&) = delete;

  // Somebody asks for the load now, and is expected to ask again within `patience`.
  void watch(std::chrono::seconds patience) EXCLUDES(thread_.mutex);
  void stop() { thread_.stop(); }

 private:
  static constexpr auto kPeriod = std::chrono::milliseconds(5);
  static constexpr int kLooksPerSearch = 10;

  void run() EXCLUDES(thread_.mutex);

  const NativeDriver& driver_;
  const std::function<void()> find_ends_;
  std::chrono::steady_clock::time_point wanted_until_ GUARDED_BY(thread_.mutex){};
  bool asleep_ GUARDED_BY(thread_.mutex) = false;
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl::server
