#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
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
  ~LoadSampler() { stop(); }
  LoadSampler(const LoadSampler&) = delete;
  LoadSampler& operator=(const LoadSampler&) = delete;

  // Somebody asks for the load now, and is expected to ask again within `patience`.
  void watch(std::chrono::seconds patience) EXCLUDES(mutex_);
  void stop() EXCLUDES(mutex_);

 private:
  static constexpr auto kPeriod = std::chrono::milliseconds(5);
  static constexpr int kLooksPerSearch = 10;

  void run() EXCLUDES(mutex_);

  const NativeDriver& driver_;
  const std::function<void()> find_ends_;
  Mutex mutex_;
  ConditionVariable wake_;
  std::chrono::steady_clock::time_point wanted_until_ GUARDED_BY(mutex_){};
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool asleep_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
