#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"
#include "server/util/ip_number.h"

namespace remotecl::server {

// The connections whose peers have yet to prove their identity; their number is bounded. When all slots are
// taken, addresses share them fairly: a newcomer displaces the oldest connection of the address that has
// most. Addresses that have proved an identity before have extra slots that others cannot take. Any thread.
class PendingHandshakes {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMax = 64;
  static constexpr std::size_t kFurtherMax = 64;  // extra slots for known addresses
  // After this time a connection gives way to a newcomer from an address that has as many.
  static constexpr std::chrono::seconds kPatience{1};

  // The slot of a connection, until leave() or the destructor; the connection must live as long. Movable.
  class Slot {
   public:
    Slot(PendingHandshakes& pending_handshakes, std::uint64_t number)
        : pending_handshakes_(&pending_handshakes), number_(number) {}
    ~Slot() { leave(); }
    Slot(Slot&& other) noexcept
        : pending_handshakes_(std::exchange(other.pending_handshakes_, nullptr)), number_(other.number_) {}
    Slot& operator=(Slot&&) = delete;

    void leave() {
      if (pending_handshakes_ != nullptr) std::exchange(pending_handshakes_, nullptr)->leave(number_, false);
    }
    // The peer has proved its identity, so its address is known from now on.
    void leave_proved() {
      if (pending_handshakes_ != nullptr) std::exchange(pending_handshakes_, nullptr)->leave(number_, true);
    }

   private:
    PendingHandshakes* pending_handshakes_;
    std::uint64_t number_;
  };

  // Returns nothing if there are too many. May shut down another connection.
  std::optional<Slot> enter(Connection& connection, const Address& from, Clock::time_point now = Clock::now())
      EXCLUDES(mutex_);
  void shutdown_all() EXCLUDES(mutex_);

 private:
  struct Entry {
    std::uint64_t number;
    Connection* connection;
    IpNumber from;
    Clock::time_point since;
  };
  using Entries = std::vector<Entry>;
  static constexpr std::size_t kKnownMax = 1024;

  static IpNumber origin_of(const Address& address);
  void leave(std::uint64_t number, bool is_proved) EXCLUDES(mutex_);
  void note_known(const IpNumber& from) REQUIRES(mutex_);
  bool make_room(const IpNumber& newcomer, Clock::time_point now) REQUIRES(mutex_);

  Mutex mutex_;
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  Entries entries_ GUARDED_BY(mutex_);                              // in order of arrival
  std::map<IpNumber, Clock::time_point> known_ GUARDED_BY(mutex_);  // and since when
};

}  // namespace remotecl::server
