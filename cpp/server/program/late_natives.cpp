#include "server/program/late_natives.h"

#include <utility>

namespace remotecl::server {

void LateNatives::start(const Ref<Program>& program, std::function<void()> make) {
  MutexLock lock(mutex_);
  worker_.post([this, program, make = std::move(make)] {
    make();
    MutexLock lock(mutex_);
    const auto at = started_.find(program.get());
    if (--at->second == 0) started_.erase(at);
    changed_.notify_all();
  });
  ++started_[program.get()];
}

void LateNatives::wait(const Program& program) {
  MutexLock lock(mutex_);
  while (started_.contains(&program)) changed_.wait(mutex_);
}

bool LateNatives::wait_for(const Program& program, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  MutexLock lock(mutex_);
  while (started_.contains(&program)) {
    if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) return !started_.contains(&program);
  }
  return true;
}

}  // namespace remotecl::server
