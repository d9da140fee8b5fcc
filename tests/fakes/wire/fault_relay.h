#pragma once

#include <netinet/in.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "runtime/protocol/frames.h"

namespace remotecl::testing {

// Stands in front of a daemon, on a loopback port of its own, for clients and for other daemons, and passes bytes on as
// a bad network does: late, in pieces of any size, and not after a cut. Any thread.
class FaultRelay {
 public:
  struct Faults {
    std::uint64_t seed = 0;
    std::chrono::microseconds delay_max{1500};  // 0: bytes go on as they come
    bool corrupts = false;                      // bytes change on their way: for connections that notice that
    std::chrono::microseconds line_delay{0};    // of every byte, however many are on their way: a long line
  };

  // `target`: "host:port", numeric.
  FaultRelay(const std::string& target, const Faults& faults);
  ~FaultRelay();
  FaultRelay(const FaultRelay&) = delete;
  FaultRelay& operator=(const FaultRelay&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Ends every connection between servers at once; says how many there were.
  int cut_peers();

  enum Fault { kCut, kNearLost, kFarLost, kStall, kCorruption, kFaultKinds };
  // One fault of a random kind in a random connection whose handshake is over: cut for both ends; lost by the end that
  // connects while the other one hears nothing, or the reverse for a while; passing nothing on for a while; a bit that
  // has changed. None when there is no such connection.
  void disturb(std::mt19937_64& random);
  // Ends connections that one end has lost, once the other one has heard nothing for long enough. disturb() does, too.
  void end_silent();
  // Ends every connection, and lets nobody through until it is opened again.
  void close();
  void open();
  // To another daemon from now on.
  void lead_to(const std::string& target);
  // Both ends know of all faults.
  void settle();
  const std::array<int, kFaultKinds>& faults() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Link {
    int near = -1;
    std::atomic<int> far{-1};
    bool between_servers = false;
    bool cut = false;
    std::atomic<bool> corrupts_next{false};
    std::atomic<bool> is_silent{false};  // an end does not hear of the other one's
    std::atomic<Clock::time_point> stalled_until{Clock::time_point::min()};
    Clock::time_point cut_at = Clock::time_point::max();
    std::thread forth, back;
    std::atomic<int> running{0};  // of these
  };

  void accept_all();
  void serve(Link& link, std::uint64_t seed);
  void pump(Link& link, int from, int to, std::uint64_t seed) const;
  void reap();
  static void end(Link& link);

  const Faults faults_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  sockaddr_in target_{};
  std::list<Link> links_;
  std::array<int, kFaultKinds> counts_{};
  bool stopping_ = false;
  bool closed_ = false;
  std::thread acceptor_;
};

}  // namespace remotecl::testing
