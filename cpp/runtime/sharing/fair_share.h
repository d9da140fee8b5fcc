#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace remotecl {

// Who of several may give a device more work. A driver takes as much as it is given, and carries out what came first:
// who comes later waits for all of it. So no more work is given at a time than the device needs to stay busy, and who
// is next is decided here.
//
// Each member has a weight, and a virtual time that grows by cost / weight with what it gives. Of those that wait the
// one with the least goes next: a weighted round robin over whatever the costs are of. Who comes back from a pause
// begins where the others are, with no credit for it. Who has had less than its share
// may have its part of the window on the device at once, whatever others have there: it may have been slow to ask.
//
// A cost is 1 for a small command. How long such a unit takes is learned from the ends. A plain data structure: no
// clock of its own, no lock, no threads.
class FairShare {
 public:
  using Member = std::uint32_t;
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // The most work that is on the device at a time, as the time that it takes, and as the number of units.
  static constexpr std::chrono::microseconds kWindow{250};
  static constexpr double kUnitsMin = 2;
  static constexpr double kUnitsMax = 256;

  // `units_max`: the most that this member may have on the device, whatever others do. REQUIRES: weight > 0.
  Member join(double weight, std::optional<double> units_max = {});
  // It waits no more. What it has given still counts until it has ended.
  void leave(Member member);
  std::size_t members() const { return present_; }

  // Work was given to the device; it has ended.
  void began(Member member, double cost, Time now);
  void ended(Member member, double cost, Time now);

  // Whether the member may give more now.
  bool may_go(Member member) const;
  // The same. If not, it waits, until take_next() names it.
  bool ask(Member member);
  // One that waits and may go now, or nothing.
  std::optional<Member> take_next();

  double on_device() const { return on_device_; }
  double on_device(Member member) const;
  // What may be on the device at a time.
  double window() const;

 private:
  struct State {
    double weight = 1;
    double units_max = 0;  // 0: no limit of its own
    double virtual_time = 0;
    double on_device = 0;
    bool waits = false;
    bool left = false;
  };

  bool has_room(const State& state) const;
  bool is_next(Member member, const State& state) const;
  void forget_if_done(std::map<Member, State>::iterator at);

  std::map<Member, State> states_;
  std::size_t present_ = 0;
  double weights_ = 0;  // of those present
  Member last_ = 0;
  double on_device_ = 0;
  double virtual_now_ = 0;          // of who went last
  double seconds_per_unit_ = 5e-6;  // learned
  Time busy_since_{};               // or since the last end
};

}  // namespace remotecl
