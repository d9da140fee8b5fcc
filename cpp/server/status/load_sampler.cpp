#include "server/status/load_sampler.h"

#include <algorithm>

namespace remotecl::server {

void LoadSampler::watch(std::chrono::seconds patience) {
  MutexLock lock(mutex_);
  wanted_until_ = std::max(wanted_until_, std::chrono::steady_clock::now() + patience);
  if (stopped_) return;
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  } else if (asleep_) {
    wake_.notify_one();
  }
}

void LoadSampler::stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    thread.swap(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
}

void LoadSampler::run() {
  for (int looks = 0;; ++looks) {
    {
      MutexLock lock(mutex_);
      if (!stopped_) wake_.wait_for(mutex_, kPeriod);
      while (!stopped_ && std::chrono::steady_clock::now() > wanted_until_) {
        for (const auto& device : driver_.devices()) device->load().forget();
        asleep_ = true;
        wake_.wait(mutex_);
        asleep_ = false;
      }
      if (stopped_) return;
    }
    if (looks % kLooksPerSearch == 0) find_ends_();
    for (const auto& device : driver_.devices()) device->load().look(std::chrono::steady_clock::now());
  }
}

}  // namespace remotecl::server
