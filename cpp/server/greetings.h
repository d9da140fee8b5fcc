#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"

namespace remotecl::server {

// The connections whose other side has yet to prove who it is: a bounded number of them. Any thread.
class Greetings {
 public:
  // A connection's place among them, until leave() or its end; the connection has to live as long. A value that can be
  // moved.
  class Place {
   public:
    Place(Greetings& greetings, Connection& connection) : greetings_(&greetings), connection_(&connection) {}
    ~Place() { leave(); }
    Place(Place&& other) noexcept
        : greetings_(std::exchange(other.greetings_, nullptr)), connection_(other.connection_) {}
    Place& operator=(Place&&) = delete;

    void leave() {
      if (greetings_ != nullptr) std::exchange(greetings_, nullptr)->leave(connection_);
    }

   private:
    Greetings* greetings_;
    Connection* connection_;
  };

  // Empty when there are too many.
  std::optional<Place> enter(Connection& connection) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (connections_.size() >= kMax) return std::nullopt;
    connections_.insert(&connection);
    return Place(*this, connection);
  }
  void shutdown_all() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    for (Connection* connection : connections_) connection->shutdown();
  }

 private:
  static constexpr std::size_t kMax = 64;

  void leave(Connection* connection) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    connections_.erase(connection);
  }

  Mutex mutex_;
  std::set<Connection*> connections_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
