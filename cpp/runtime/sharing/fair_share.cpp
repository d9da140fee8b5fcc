#include "runtime/sharing/fair_share.h"

#include <algorithm>

namespace remotecl {
namespace {

// How strongly one more unit changes the learned time.
constexpr double kLearning = 1.0 / 32;

}  // namespace

FairShare::Member FairShare::join(double weight, std::optional<double> units_max) {
  State state;
  state.weight = weight;
  state.units_max = units_max.value_or(0);
  state.virtual_time = virtual_now_;
  states_.emplace(++last_, state);
  ++present_;
  weights_ += weight;
  return last_;
}

void FairShare::leave(Member member) {
  const auto at = states_.find(member);
  if (at == states_.end() || at->second.left) return;
  at->second.left = true;
  at->second.waits = false;
  --present_;
  weights_ -= at->second.weight;
  forget_if_done(at);
}

void FairShare::forget_if_done(std::map<Member, State>::iterator at) {
  if (at->second.left && at->second.on_device <= 0) states_.erase(at);
}

void FairShare::began(Member member, double cost, Time now) {
  const auto at = states_.find(member);
  if (at == states_.end()) return;
  State& state = at->second;
  if (on_device_ <= 0) busy_since_ = now;
  virtual_now_ = std::max(virtual_now_, state.virtual_time);
  state.virtual_time += cost / state.weight;
  state.on_device += cost;
  on_device_ += cost;
}

void FairShare::ended(Member member, double cost, Time now) {
  const auto at = states_.find(member);
  if (at == states_.end()) return;
  cost = std::min(cost, at->second.on_device);
  at->second.on_device -= cost;
  on_device_ = std::max(0.0, on_device_ - cost);
  if (cost > 0) {
    const double each = std::chrono::duration<double>(now - busy_since_).count() / cost;
    seconds_per_unit_ += (each - seconds_per_unit_) * std::min(1.0, kLearning * cost);
    busy_since_ = now;
  }
  forget_if_done(at);
}

double FairShare::window() const {
  const double units = std::chrono::duration<double>(kWindow).count() / std::max(seconds_per_unit_, 1e-9);
  return std::clamp(units, kUnitsMin, kUnitsMax);
}

double FairShare::on_device(Member member) const {
  const auto at = states_.find(member);
  return at == states_.end() ? 0 : at->second.on_device;
}

bool FairShare::has_room(const State& state) const {
  if (on_device_ <= 0) return true;
  if (state.units_max > 0 && state.on_device >= state.units_max) return false;
  if (present_ < 2 || on_device_ < window()) return true;
  return state.virtual_time <= virtual_now_ && state.on_device < window() * state.weight / weights_;
}

bool FairShare::is_next(Member member, const State& state) const {
  return std::none_of(states_.begin(), states_.end(), [&](const auto& entry) {
    return entry.first != member && entry.second.waits && has_room(entry.second) &&
           entry.second.virtual_time < state.virtual_time;
  });
}

bool FairShare::may_go(Member member) const {
  const auto at = states_.find(member);
  return at == states_.end() || at->second.left || (has_room(at->second) && is_next(member, at->second));
}

bool FairShare::ask(Member member) {
  const auto at = states_.find(member);
  if (at == states_.end() || at->second.left) return true;
  State& state = at->second;
  // An idle member must not save up time.
  if (state.on_device <= 0 && !state.waits) state.virtual_time = std::max(state.virtual_time, virtual_now_);
  state.waits = !has_room(state) || !is_next(member, state);
  return !state.waits;
}

std::optional<FairShare::Member> FairShare::take_next() {
  auto next = states_.end();
  for (auto at = states_.begin(); at != states_.end(); ++at) {
    if (!at->second.waits || !has_room(at->second)) continue;
    if (next == states_.end() || at->second.virtual_time < next->second.virtual_time) next = at;
  }
  if (next == states_.end()) return std::nullopt;
  next->second.waits = false;
  return next->first;
}

}  // namespace remotecl
