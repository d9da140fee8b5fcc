#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "extras/kernel_sockets/space/proxy.h"
#include "extras/kernel_sockets/space/thread_load.h"
#include "extras/kernel_sockets/space/wake_event.h"
#include "runtime/base/mutex.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Moves the bytes of some lanes of a network. A kernel cannot wake it, so it polls the rings: all the time while there
// is traffic, then less and less often, and not at all while no kernel uses the network. Owned by the proxy; any
// thread.
class ProxyThread {
 public:
  // Throws std::system_error if the system has no descriptor or thread. `is_first`: keeps the kernels' clock.
  ProxyThread(Proxy& proxy, bool is_first);
  ~ProxyThread() { join(); }
  ProxyThread(const ProxyThread&) = delete;
  ProxyThread& operator=(const ProxyThread&) = delete;

  // Waits for its end. REQUIRES: the proxy stops.
  void join();
  // Gives it lanes that no other thread has. Returns false, and takes none, if it has ended.
  bool give(const std::vector<SocketTable*>& lanes) EXCLUDES(mutex_);
  // Does nothing if the thread has no lanes.
  void wake() {
    if (!is_free_) event_->wake();
  }
  // Whether it has no lanes, and nobody is about to give it some.
  bool is_free() const { return is_free_; }
  // Claims a free thread, to which the caller then gives lanes. Returns false if it was not free.
  bool engage() { return is_free_.exchange(false); }

 private:
  using Clock = Proxy::Clock;
  struct Lane {
    SocketTable* table;
    std::uint32_t busy_rounds = 0;  // since the load was judged
  };

  // The longest sleep while a kernel runs, which bounds how long a kernel's first byte after a pause waits.
  static constexpr std::chrono::milliseconds kSleepMax{1};
  static constexpr std::chrono::microseconds kSleepMin{50};
  // The longest sleep while a closed socket waits for its peer.
  static constexpr std::chrono::milliseconds kTick{100};
  // How long peers may take what kernels had sent when the network stopped.
  static constexpr std::chrono::milliseconds kFarewell{1000};

  void run();
  // Returns whether there was anything to do.
  bool work(Clock::time_point now, bool moves);
  bool take_events();
  void take_lanes() EXCLUDES(mutex_);
  // Gives lanes to another thread, if that is of use.
  void share(Clock::time_point now);
  void hand_over(ProxyThread& other, const std::vector<SocketTable*>& lanes);
  // Sleeps until something comes, or some time that depends on how long nothing has come.
  void sleep(Clock::duration idle, bool is_limited);
  void end() EXCLUDES(mutex_);
  void send_rest();

  Proxy& proxy_;
  const bool is_first_;
  const Ref<WakeEvent> event_;
  const Descriptor epoll_;
  const Clock::duration spin_;
  std::atomic<bool> is_free_{false}, has_given_{false};
  std::vector<Lane> lanes_;  // used by the thread only, like load_
  ThreadLoad load_;
  Mutex mutex_;
  std::vector<SocketTable*> given_ GUARDED_BY(mutex_);
  bool has_ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace remotecl::server
