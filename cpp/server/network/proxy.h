#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "server/network/network.h"
#include "server/network/socket_table.h"
#include "server/network/wake_list.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// The thread of a network. A kernel cannot wake it, so it looks at the rings: all the time while there is traffic, then
// less and less often, and not at all while no kernel has the network. Owned by the network; any thread.
class Proxy {
 public:
  // Throws std::system_error if the system has no descriptor or thread. `memory` outlives it.
  Proxy(std::byte* memory, const NetworkShape& shape, const Network::Hooks& hooks);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void kernel_begins();
  void kernel_ended();
  void stop();
  NetworkStats stats() const;

 private:
  using Clock = std::chrono::steady_clock;

  // The longest sleep while a kernel runs: what a kernel's first byte after a pause may wait.
  static constexpr std::chrono::milliseconds kSleepMax{1};
  static constexpr std::chrono::microseconds kSleepMin{50};
  // A closed socket's patience, and a rate limit, are looked at as often.
  static constexpr std::chrono::milliseconds kTick{100};

  void run();
  // Returns whether there were any.
  bool take_events();
  // Sleeps until something comes, or some time that depends on how long nothing has come.
  void sleep(Clock::duration idle, bool is_limited);
  void tell_time(Clock::time_point now);
  void publish_stats();

  std::byte* const memory_;
  const Ref<SocketAccount> account_;
  const Ref<WakeList> wakes_;
  const Descriptor epoll_;
  SocketTable table_;  // the thread's
  const Clock::duration spin_;
  std::atomic<std::uint32_t> kernels_{0};
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> sockets_{0}, opened_{0}, sent_{0}, received_{0};
  std::thread thread_;
};

}  // namespace remotecl::server
