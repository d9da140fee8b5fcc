#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// Ends a connection with several carriers when the other side has ended one of them, even if no thread reads
// or writes that carrier: what was written to it may be lost, and the other side would wait for it. One for
// the process, with a thread that starts with the first such connection and sleeps until a carrier ends.
class CarrierMonitor {
 public:
  static CarrierMonitor& instance();

  // Watches until forget(), which waits for a running shutdown().
  void watch(Connection& whole, const std::vector<std::shared_ptr<Connection>>& carriers) EXCLUDES(mutex_);
  void forget(Connection& whole, const std::vector<std::shared_ptr<Connection>>& carriers) EXCLUDES(mutex_);

 private:
  CarrierMonitor();
  [[noreturn]] void run() EXCLUDES(mutex_);

  const int epoll_;
  Mutex mutex_;
  bool has_thread_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  // By a number that is never used again, because an event may come late.
  std::unordered_map<std::uint64_t, Connection*> watched_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
