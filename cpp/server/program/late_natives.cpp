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

}  // namespace remotecl::server
