#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace remotecl {

// Decides which of several members may give a device more work. A driver takes all work that it is given and
// runs it in order, so a late member would wait for everything before it. Therefore the device is given only
// as much as it needs to stay busy, and the order is decided here.
//
// Each member has a weight, and a virtual time that grows by cost / weight with the work that it gives. Of
// the waiting members, the one with the least virtual time goes next: a weighted round robin over costs. A
// member that returns from a pause starts level with the others, without credit for the pause. A member that
// has had less than its share may use its part of the window at once, whatever others have on the device,
// because it may merely have been slow to ask.
//
// A small command costs 1. How long such a unit takes is learned from the ends of commands. A plain data
// structure without a clock, lock or threads.
class FairShare {
 public:
  using Member = std::uint32_t;
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // The most work on the device at a time, as the time that it takes and as the number of units.
  static constexpr std::chrono::microseconds kWindow{250};
  static constexpr double kUnitsMin = 2;
  static constexpr double kUnitsMax = 256;

  // `units_max`: the most that this member may have on the device in any case. REQUIRES: weight > 0.
  Member join(double weight, std::optional<double> units_max = {});
  // The member stops waiting. Its work still counts until it has ended.
  void leave(Member member);
  std::size_t members() const { return present_; }

  // Work was given to the device, or has ended.
  void began(Member member, double cost, Time now);
  void ended(Member member, double cost, Time now);

  // Whether the member may give more work now.
  bool may_go(Member member) const;
  // Like may_go(), but if the answer is no, the member waits until take_next() names it.
  bool ask(Member member);
  // A waiting member that may go now, or nothing.
  std::optional<Member> take_next();

  double on_device() const { return on_device_; }
  double on_device(Member member) const;
  // How much work may be on the device at a time.
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
  double weights_ = 0;  // of the present members
  Member last_ = 0;
  double on_device_ = 0;
  double virtual_now_ = 0;          // of the member that went last
  double seconds_per_unit_ = 5e-6;  // learned
  Time busy_since_{};               // or the time of the last end
};

}  // namespace remotecl
