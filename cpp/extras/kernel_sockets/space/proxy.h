#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "extras/kernel_sockets/space/lane_group.h"
#include "runtime/base/mutex.h"

namespace remotecl::server {

class ProxyThread;
class SocketTable;

// The host's side of a network: its lanes of sockets, and the threads that have them. One thread has all lanes at
// first. One that is busy gives half of its busy lanes to another one, and gets them back when that has hardly anything
// to do. Owned by the network; any thread.
class Proxy {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws std::system_error if the system has no descriptor or thread. `memory` outlives it.
  Proxy(std::byte* memory, const SpaceShape& shape, const KernelSocketSpace::Hooks& hooks);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void kernel_begins();
  void kernel_ended();
  void stop();
  SpaceStats stats() const;
  // Those that have lanes.
  std::size_t threads() const EXCLUDES(mutex_);

  // For its threads.
  LaneGroup& group() { return group_; }
  SpaceThreads::Rule rule() const { return group_.hooks.threads.rule; }
  bool has_kernels() const { return kernels_ != 0; }
  bool is_stopping() const { return is_stopping_.load(std::memory_order_relaxed); }
  void report_time(Clock::time_point now);
  // A thread without lanes, which is to be given some. Null if there can be no more.
  ProxyThread* another_thread() EXCLUDES(mutex_);
  // The thread that takes the lanes of calm ones.
  ProxyThread& first_thread() EXCLUDES(mutex_);

 private:
  void begin(std::size_t threads) EXCLUDES(mutex_);
  void wake_all() EXCLUDES(mutex_);

  LaneGroup group_;
  std::vector<std::unique_ptr<SocketTable>> lanes_;  // each is used by the thread that has it
  std::atomic<std::uint32_t> kernels_{0};
  std::atomic<bool> is_stopping_{false};
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<ProxyThread>> threads_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
