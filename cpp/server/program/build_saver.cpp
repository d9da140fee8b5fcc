#include "server/program/build_saver.h"

#include <exception>
#include <utility>

#include "server/program/stored_builds.h"
#include "server/util/log.h"

namespace remotecl::server {

UnusedKernels::UnusedKernels(const std::vector<KernelRecord>& kernels, std::function<void()> one_less)
    : one_less_(std::move(one_less)) {
  for (const KernelRecord& kernel : kernels) names_.insert(kernel.name);
}

void UnusedKernels::use(const std::string& kernel) {
  {
    MutexLock lock(mutex_);
    if (names_.erase(kernel) == 0) return;
  }
  one_less_();
}

bool UnusedKernels::empty() const {
  MutexLock lock(mutex_);
  return names_.empty();
}

BuildSaver::BuildSaver(ContentStore& store, ReadBinary read_binary)
    : store_(store), read_binary_(std::move(read_binary)), thread_([this] { run(); }) {}

BuildSaver::~BuildSaver() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
  MutexLock lock(mutex_);
  release(builds_);
}

void BuildSaver::release(Builds& builds) {
  for (const Build& build : builds) clReleaseProgram(build.program);
}

void BuildSaver::add(Build build) {
  clRetainProgram(build.program);
  Builds dropped;
  {
    MutexLock lock(mutex_);
    builds_.push_back(std::move(build));
    if (builds_.size() > kCountMax) dropped.splice(dropped.end(), builds_, builds_.begin());
    active_at_ = Clock::now();
    changed_.notify_all();
  }
  release(dropped);
}

void BuildSaver::note_activity() {
  MutexLock lock(mutex_);
  active_at_ = Clock::now();
  changed_.notify_all();
}

BuildSaver::Builds BuildSaver::take_ready() {
  Builds ready;
  for (auto at = builds_.begin(); at != builds_.end();) {
    const auto build = at++;
    if (build->unused == nullptr || build->unused->empty()) ready.splice(ready.end(), builds_, build);
  }
  return ready;
}

void BuildSaver::run() {
  MutexLock lock(mutex_);
  Clock::time_point looked_at{};  // without later activity there is nothing new to find
  while (!stopped_) {
    const Clock::time_point due = active_at_ + kQuiet;
    if (builds_.empty() || looked_at == active_at_) {
      changed_.wait(mutex_);
    } else if (Clock::now() < due) {
      changed_.wait_until(mutex_, due);
    } else {
      looked_at = active_at_;
      Builds ready = take_ready();
      for (const Build& build : ready) {
        if (stopped_) break;
        lock.unlock();
        save(build);
        lock.lock();
      }
      lock.unlock();
      release(ready);
      lock.lock();
    }
  }
}

void BuildSaver::save_all(Clock::time_point deadline) {
  Builds all;
  {
    MutexLock lock(mutex_);
    all.swap(builds_);
  }
  for (const Build& build : all) {
    if (Clock::now() < deadline) save(build);
  }
  release(all);
}

void BuildSaver::save(const Build& build) {
  try {
    std::vector<std::byte> binary;
    if (read_binary_(build.program, binary) != CL_SUCCESS || binary.empty()) return;
    store_.keep(build.owner, build.key, StoredBuilds::encode(build.record, binary));
  } catch (const std::exception& error) {
    log_info("a program was not stored: {}", error.what());
  }
}

}  // namespace remotecl::server
