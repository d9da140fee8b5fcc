#include "server/driver/device_turns.h"

#include <algorithm>
#include <utility>

#include "server/completion/event_poller.h"

namespace remotecl::server {
namespace {

using Functions = std::vector<std::function<void()>>;

void call(const Functions& functions) {
  for (const auto& function : functions) function();
}

}  // namespace

bool DeviceTurns::claim(std::uint64_t session) {
  MutexLock lock(mutex_);
  if (owner_ != 0 || !members_.empty()) return owner_ == session;
  owner_ = session;
  return true;
}

void DeviceTurns::unclaim(std::uint64_t session) {
  MutexLock lock(mutex_);
  if (owner_ == session) owner_ = 0;
}

bool DeviceTurns::is_taken_from(std::uint64_t session) const {
  MutexLock lock(mutex_);
  return owner_ != 0 && owner_ != session;
}

Functions DeviceTurns::grant_ready() {
  Functions functions;
  while (const auto next = share_.take_next()) {
    DeviceTurn& turn = *members_.find(*next)->second;
    turn.turns_->mutex_.assume_held();  // this one
    turn.grant(functions);
  }
  return functions;
}

Ref<DeviceTurn> DeviceTurns::join(std::uint64_t session, double weight, std::optional<std::uint64_t> commands_max,
                                  CompletionNotifier completions, bool is_timed) {
  MutexLock lock(mutex_);
  if (owner_ != 0 && owner_ != session) return nullptr;
  const std::optional<double> units = commands_max ? std::optional(static_cast<double>(*commands_max)) : std::nullopt;
  const FairShare::Member member = share_.join(weight, units);
  auto turn = Ref<DeviceTurn>::adopt(new DeviceTurn(Ref<DeviceTurns>(this), std::move(completions), session, member,
                                                    commands_max.value_or(0), is_timed));
  members_.emplace(member, turn.get());
  shared_.store(members_.size() > 1, std::memory_order_relaxed);
  return turn;
}

std::optional<DeviceTurns::Longest> DeviceTurns::longest() const {
  MutexLock lock(mutex_);
  std::optional<Longest> longest;
  for (const auto& [member, turn] : members_) {
    turn->turns_->mutex_.assume_held();  // this one
    if (turn->under_way_.empty() || (longest && longest->since <= turn->progress_)) continue;
    longest = Longest{turn->session_, turn->progress_};
  }
  return longest;
}

void DeviceTurns::have_waited_for(const DeviceTurn& ended, Clock::time_point given, Clock::time_point now) {
  for (const auto& [member, turn] : members_) {
    turn->turns_->mutex_.assume_held();  // this one
    if (turn == &ended || turn->under_way_.empty() || turn->under_way_.begin()->first < given) continue;
    turn->progress_ = now;
  }
}

void DeviceTurn::leave() {
  Functions functions;
  Functions dropped;
  {
    MutexLock lock(turns_->mutex_);
    if (std::exchange(left_, true)) return;
    dropped = std::move(at_grant_);
    wake_.notify_all();
    turns_->share_.leave(member_);
    turns_->members_.erase(member_);
    const auto now = Clock::now();
    for (const auto& [noted, given] : under_way_) turns_->have_waited_for(*this, given, now);
    turns_->shared_.store(turns_->members_.size() > 1, std::memory_order_relaxed);
    functions = turns_->grant_ready();
  }
  call(functions);
}

void DeviceTurn::grant(Functions& functions) {
  ++granted_;
  wake_.notify_all();
  for (auto& function : std::exchange(at_grant_, {})) functions.push_back(std::move(function));
}

bool DeviceTurn::add(double cost, cl_event event) {
  uncounted_ += cost;
  if (event == nullptr) return false;
  return began(std::exchange(uncounted_, 0), event, given_);
}

void DeviceTurn::add_bytes(std::uint64_t size, cl_event event) {
  if (counts() && began(cost_of_bytes(size), event, Clock::now())) wait();
}

bool DeviceTurn::began(double cost, cl_event event, Clock::time_point given) {
  bool is_full = false;
  Batch begun{given, {}, cost};
  {
    MutexLock lock(turns_->mutex_);
    FairShare& share = turns_->share_;
    const auto now = begun.noted = Clock::now();
    if (under_way_.empty()) progress_ = now;
    under_way_.emplace(now, given);
    share.began(member_, cost, now);
    is_full = !share.may_go(member_);
    double batch = std::clamp(share.window() / 8, 1.0, kBatchMax);
    if (commands_max_ != 0) batch = std::clamp(static_cast<double>(commands_max_) / 4, 1.0, batch);
    batch_.store(batch, std::memory_order_relaxed);
  }
  completions_.notify_apart(event, [turn = Ref<DeviceTurn>(this), begun](cl_int) { turn->ended(begun); });
  return is_full;
}

void DeviceTurn::ended(const Batch& batch) {
  Functions functions;
  {
    MutexLock lock(turns_->mutex_);
    const auto now = Clock::now();
    under_way_.erase(under_way_.find(batch.noted));
    progress_ = now;
    turns_->have_waited_for(*this, batch.given, now);
    turns_->share_.ended(member_, batch.cost, now);
    functions = turns_->grant_ready();
  }
  call(functions);
}

void DeviceTurn::end_waits() {
  MutexLock lock(turns_->mutex_);
  is_over_ = true;
  wake_.notify_all();
}

bool DeviceTurn::wait_until(Clock::time_point end) {
  EventPoller::leave_all();  // others may wait for events that this thread polls
  Functions functions;
  {
    MutexLock lock(turns_->mutex_);
    if (left_ || is_over_) return true;
    const std::uint64_t before = granted_;
    if (turns_->share_.ask(member_)) {
      grant(functions);  // also to others of this session that wait
    } else {
      while (granted_ == before && !left_ && !is_over_) {
        if (wake_.wait_until(turns_->mutex_, end) == std::cv_status::no_timeout) continue;
        return granted_ != before || left_ || is_over_;
      }
    }
  }
  call(functions);
  return true;
}

bool DeviceTurn::ask() {
  Functions dropped;
  MutexLock lock(turns_->mutex_);
  if (!left_ && !turns_->share_.ask(member_)) return false;
  grant(dropped);
  return true;
}

bool DeviceTurn::when_granted(std::function<void()> function) {
  Functions functions;
  {
    MutexLock lock(turns_->mutex_);
    if (left_) return false;
    if (!turns_->share_.ask(member_)) {
      at_grant_.push_back(std::move(function));
      return true;
    }
    grant(functions);
  }
  call(functions);
  return false;
}

}  // namespace remotecl::server
