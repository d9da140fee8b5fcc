#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "runtime/sharing/fair_share.h"
#include "server/status/load_meter.h"
#include "server/status/session_load.h"
#include "simulated_clock.h"

namespace remotecl::schedule {

// A daemon with one CPU device, as clients see it: sessions take turns (FairShare), the driver's threads work on one
// kernel after the other, and each session gets the load that the others are.
//
// A thread of the driver that finds nothing to do in the present kernel takes the next one from the queue, whose time
// begins then, before it is worked on. So a kernel's measured time includes the wait for those before it, unless the
// driver has one thread. PoCL is like that.
class SimulatedServer {
 public:
  using Session = std::uint32_t;
  // A kernel's times, as its profile has them.
  struct Run {
    Time begin = 0, end = 0;
  };
  using Ended = std::function<void(const Run&)>;
  using Loads = std::function<void(const LoadOfDevice&)>;

  // `speed`: of the device, next to one thread.
  SimulatedServer(SimulatedClock& clock, unsigned threads) : clock_(clock), threads_(threads) {}
  SimulatedServer(const SimulatedServer&) = delete;

  // The session has a queue here from now on. `loads` gets other sessions' load, `delay` later.
  void join(Session session, Loads loads, Seconds delay);
  // A kernel of so much work, as seconds of one thread, that can begin now.
  void enqueue(Session session, Seconds work, Ended ended);

 private:
  struct Kernel {
    Session session;
    Seconds work;
    Ended ended;
    Time begin = 0;
    bool has_begun = false;
  };
  struct Member {
    FairShare::Member turn = 0;
    bool is_closed = false;  // its gate (TurnGates)
    std::deque<Kernel> held;
    Loads loads;
    Seconds delay = 0;
    server::ReportedLoads reported;
    // The native queue: given to the driver, ended, and ended as far as the server knows.
    std::uint64_t issued = 0, ended = 0, known_ended = 0;
    std::uint64_t searched_until = 0;  // a marker is under way that ends with this command; 0: none
  };

  void pump(Member& member);
  void begin();
  void stamp(unsigned count);
  void end();
  void look();
  void find_ends();
  void wake();
  static FairShare::Time steady(Time time) {
    return FairShare::Time() + std::chrono::duration_cast<FairShare::Duration>(std::chrono::duration<double>(time + 1));
  }

  SimulatedClock& clock_;
  const unsigned threads_;
  FairShare share_;
  std::map<Session, Member> members_;
  std::deque<Kernel> driver_;
  server::LoadMeter meter_;
  std::uint64_t looks_ = 0;
  bool is_looking_ = false;
};

}  // namespace remotecl::schedule
