#include "server/program/build_saver.h"

#include <algorithm>
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
    : store_(store), read_binary_(std::move(read_binary)) {
  MutexLock lock(thread_.mutex);
  thread_.start();
}

BuildSaver::~BuildSaver() {
  thread_.stop();
  MutexLock lock(thread_.mutex);
  release(builds_);
}

void BuildSaver::release(Builds& builds) {
  for (const Build& build : builds) clReleaseProgram(build.program);
}

void BuildSaver::add(Build build) {
  clRetainProgram(build.program);
  Builds dropped;
  {
    MutexLock lock(thread_.mutex);
    builds_.push_back(std::move(build));
    if (builds_.size() > kCountMax) dropped.splice(dropped.end(), builds_, builds_.begin());
    active_at_ = Clock::now();
    thread_.wake();
  }
  release(dropped);
}

void BuildSaver::note_activity() {
  MutexLock lock(thread_.mutex);
  active_at_ = Clock::now();
  thread_.wake();
}

bool BuildSaver::is_ready(const Build& build) {
  if (build.unused == nullptr) return true;
  const auto has_fixed_size = [](const KernelRecord& kernel) {
    return kernel.values.compile_work_group_size != decltype(kernel.values.compile_work_group_size){};
  };
  return build.unused->empty() && std::ranges::none_of(build.record.kernels, has_fixed_size);
}

BuildSaver::Builds BuildSaver::take_ready() {
  Builds ready;
  for (auto at = builds_.begin(); at != builds_.end();) {
    const auto build = at++;
    if (is_ready(*build)) ready.splice(ready.end(), builds_, build);
  }
  return ready;
}

void BuildSaver::run() {
  MutexLock lock(thread_.mutex);
  Clock::time_point looked_at{};  // without later activity there is nothing new to find
  while (!thread_.is_stopping()) {
    const Clock::time_point due = active_at_ + kQuiet;
    if (builds_.empty() || looked_at == active_at_) {
      thread_.wait();
    } else if (Clock::now() < due) {
      thread_.wait_until(due);
    } else {
      looked_at = active_at_;
      Builds ready = take_ready();
      is_saving_ = true;
      for (const Build& build : ready) {
        if (thread_.is_stopping()) break;
        lock.unlock();
        save(build);
        lock.lock();
      }
      is_saving_ = false;
      saved_.notify_all();
      lock.unlock();
      release(ready);
      lock.lock();
    }
  }
}

void BuildSaver::save_all(Clock::time_point deadline) {
  Builds all;
  {
    MutexLock lock(thread_.mutex);
    all.swap(builds_);
  }
  for (const Build& build : all) {
    if (Clock::now() < deadline) save(build);
  }
  release(all);
  const MutexLock lock(thread_.mutex);
  while (is_saving_ && saved_.wait_until(thread_.mutex, deadline) != std::cv_status::timeout) {
  }
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
