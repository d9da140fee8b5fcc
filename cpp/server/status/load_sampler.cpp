#include "server/status/load_sampler.h"

#include <algorithm>

namespace remotecl::server {

void LoadSampler::watch(std::chrono::seconds patience) {
  MutexLock lock(thread_.mutex);
  wanted_until_ = std::max(wanted_until_, std::chrono::steady_clock::now() + patience);
  thread_.start();
  if (asleep_) thread_.wake();
}

void LoadSampler::run() {
  for (int looks = 0;; ++looks) {
    {
      MutexLock lock(thread_.mutex);
      if (!thread_.is_stopping()) thread_.wait_until(std::chrono::steady_clock::now() + kPeriod);
      while (!thread_.is_stopping() && std::chrono::steady_clock::now() > wanted_until_) {
        for (const auto& device : driver_.devices()) device->load().forget();
        asleep_ = true;
        thread_.wait();
        asleep_ = false;
      }
      if (thread_.is_stopping()) return;
    }
    if (looks % kLooksPerSearch == 0) {
      find_ends_();
      // What was released during a kernel would count as used until the next release.
      for (const auto& device : driver_.devices()) device->released_memory().release_if_idle();
    }
    for (const auto& device : driver_.devices()) device->load().look(std::chrono::steady_clock::now());
  }
}

}  // namespace remotecl::server
