#include "extras/kernel_sockets/space/proxy.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "extras/kernel_sockets/space/layout.h"
#include "extras/kernel_sockets/space/proxy_thread.h"
#include "extras/kernel_sockets/space/socket_table.h"

namespace remotecl::server {

Proxy::Proxy(std::byte* memory, const SpaceShape& shape, const KernelSocketSpace::Hooks& hooks)
    : group_(memory, shape, hooks, std::min(hooks.threads.bound(), shape.sockets)) {
  for (std::uint32_t lane = 0; lane < group_.size(); ++lane) {
    lanes_.push_back(std::make_unique<SocketTable>(group_, lane));
  }
  try {
    begin(rule() == SpaceThreads::Rule::kFixed ? lanes_.size() : 1);
  } catch (...) {
    is_stopping_ = true;  // ends the threads that have begun
    throw;
  }
}

void Proxy::begin(std::size_t threads) {
  MutexLock lock(mutex_);
  while (threads_.size() < threads) threads_.push_back(std::make_unique<ProxyThread>(*this, threads_.empty()));
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) threads_[lane % threads_.size()]->give({lanes_[lane].get()});
}

Proxy::~Proxy() {
  stop();
  std::vector<ProxyThread*> threads;
  {
    MutexLock lock(mutex_);
    for (const auto& thread : threads_) threads.push_back(thread.get());
  }
  // Joins all threads before any is destroyed, because they give each other lanes.
  for (ProxyThread* const thread : threads) thread->join();
}

// Sets the clock first, so that the kernel does not begin a wait at the time of an earlier kernel.
void Proxy::kernel_begins() {
  report_time(Clock::now());
  ++kernels_;
  wake_all();
}

// Wakes the threads, because they must still look at what the kernel sent last.
void Proxy::kernel_ended() {
  --kernels_;
  wake_all();
}

void Proxy::stop() {
  is_stopping_ = true;
  wake_all();
}

// Waking never blocks, so the lock may be held.
void Proxy::wake_all() {
  MutexLock lock(mutex_);
  for (const auto& thread : threads_) thread->wake();
}

SpaceStats Proxy::stats() const {
  SpaceStats sum;
  for (const auto& lane : lanes_) {
    const SpaceStats stats = lane->stats();
    sum.sockets += stats.sockets;
    sum.opened += stats.opened;
    sum.bytes_sent += stats.bytes_sent;
    sum.bytes_received += stats.bytes_received;
  }
  return sum;
}

std::size_t Proxy::threads() const {
  MutexLock lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(threads_.begin(), threads_.end(), [](const auto& thread) { return !thread->is_free(); }));
}

void Proxy::report_time(Clock::time_point now) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  store_shared(group_.memory + layout::kClockAt, static_cast<std::uint32_t>(time.count()));
}

ProxyThread* Proxy::another_thread() {
  MutexLock lock(mutex_);
  if (is_stopping_) return nullptr;
  for (const auto& thread : threads_) {
    if (thread->engage()) return thread.get();
  }
  if (threads_.size() >= lanes_.size()) return nullptr;
  try {
    threads_.push_back(std::make_unique<ProxyThread>(*this, false));
  } catch (const std::system_error&) {
    return nullptr;  // the existing threads go on
  }
  return threads_.back().get();
}

ProxyThread& Proxy::first_thread() {
  MutexLock lock(mutex_);
  return *threads_.front();
}

}  // namespace remotecl::server
