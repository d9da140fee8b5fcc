#pragma once

#include <functional>
#include <string>

#include "runtime/base/mutex.h"
#include "server/execution/strand.h"

namespace remotecl::testing {

// Works where it is asked to.
class PlainStrand final : public server::Strand {
 public:
  PlainStrand() : Strand(1) {}
  void later(std::function<void()> job) override { run_locked(job); }
  void post(std::function<void()> job) override { run_locked(job); }
  void close(const std::string& why) override { reason = why; }

  std::string reason;  // of the last close()

 private:
  bool run_locked(const std::function<void()>& job) override {
    const MutexLock lock(mutex_);
    job();
    return true;
  }
  Mutex mutex_;
};

}  // namespace remotecl::testing
