#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// Ends a connection that has several carriers when any of these has ended at the other side, also while nobody reads or
// writes that one: what was written to it may be lost, and the other side waits for it. One for the process, with a
// thread that is made for the first such connection and sleeps until one of them ends.
class CarrierMonitor {
 public:
  static CarrierMonitor& instance();

  // From now on until forget(), which waits for a shutdown() that is under way.
  void watch(Connection& whole, const std::vector<std::shared_ptr<Connection>>& carriers) EXCLUDES(mutex_);
  void forget(Connection& whole, const std::vector<std::shared_ptr<Connection>>& carriers) EXCLUDES(mutex_);

 private:
  CarrierMonitor();
  [[noreturn]] void run() EXCLUDES(mutex_);

  const int epoll_;
  Mutex mutex_;
  bool has_thread_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  // By a number that is never used again: an event may come late.
  std::unordered_map<std::uint64_t, Connection*> watched_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
