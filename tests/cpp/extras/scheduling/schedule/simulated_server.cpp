#include "simulated_server.h"

#include <algorithm>

namespace remotecl::schedule {
namespace {

// LoadReporter::kPeriod, and how often LoadBoard has ends searched.
constexpr Seconds kLook = 10e-3;
constexpr unsigned kLooksPerSearch = 2;

}  // namespace

void SimulatedServer::join(Session session, Loads loads, Seconds delay) {
  Member& member = members_[session];
  member.turn = share_.join(1);
  member.loads = std::move(loads);
  member.delay = delay;
}

void SimulatedServer::enqueue(Session session, Seconds work, Ended ended) {
  Member& member = members_.at(session);
  member.held.push_back({session, work, std::move(ended)});
  pump(member);
  wake();
}

// TurnGates and Issuer::run.
void SimulatedServer::pump(Member& member) {
  while (!member.held.empty()) {
    if (share_.members() > 1) {
      if (member.is_closed && !share_.ask(member.turn)) return;
      member.is_closed = false;
    }
    driver_.push_back(std::move(member.held.front()));
    member.held.pop_front();
    ++member.issued;
    share_.began(member.turn, 1, steady(clock_.now()));
    if (!share_.may_go(member.turn)) member.is_closed = !share_.ask(member.turn);
    if (driver_.size() == 1) {
      stamp(1);
      begin();
    }
  }
}

void SimulatedServer::begin() {
  if (!driver_.empty()) clock_.after(driver_.front().work / threads_, [this] { end(); });
}

void SimulatedServer::stamp(unsigned count) {
  for (Kernel& kernel : driver_) {
    if (kernel.has_begun) continue;
    if (count-- == 0) return;
    kernel.has_begun = true;
    kernel.begin = clock_.now();
  }
}

void SimulatedServer::end() {
  const Kernel kernel = std::move(driver_.front());
  driver_.pop_front();
  stamp(threads_);
  begin();
  Member& member = members_.at(kernel.session);
  ++member.ended;
  if (member.searched_until != 0 && member.ended >= member.searched_until) {
    member.known_ended = member.searched_until;
    member.searched_until = 0;
  }
  share_.ended(member.turn, 1, steady(clock_.now()));
  while (const auto next = share_.take_next()) {
    const auto at =
        std::find_if(members_.begin(), members_.end(), [&](auto& each) { return each.second.turn == *next; });
    at->second.is_closed = false;
    pump(at->second);
  }
  kernel.ended({kernel.begin, clock_.now()});
}

// LoadReporter sleeps while no session has work.
void SimulatedServer::wake() {
  if (is_looking_) return;
  is_looking_ = true;
  look();
}

void SimulatedServer::find_ends() {
  for (auto& [session, member] : members_) {
    if (member.searched_until != 0 || member.known_ended == member.issued) continue;
    if (member.ended == member.issued) {
      member.known_ended = member.ended;
    } else {
      member.searched_until = member.issued;
    }
  }
}

void SimulatedServer::look() {
  if (++looks_ % kLooksPerSearch == 0) find_ends();
  std::uint64_t ended = 0;
  bool is_running = false;
  for (const auto& [session, member] : members_) {
    ended += member.known_ended;
    is_running = is_running || member.issued != member.known_ended;
  }
  meter_.look(steady(clock_.now()), ended, is_running);
  std::vector<server::SessionLoad> loads;
  is_looking_ = false;
  for (const auto& [session, member] : members_) {
    const bool runs = member.issued != member.known_ended;
    const std::uint64_t depth = member.issued - member.known_ended + member.held.size();
    is_looking_ = is_looking_ || depth != 0;
    loads.push_back({session + 1, {{depth == 0 ? 0 : meter_.seconds(depth, runs), depth == 0 ? 0.0 : 1.0}}});
  }
  constexpr std::uint32_t kDevices[] = {0};
  for (auto& [session, member] : members_) {
    const auto changes = member.reported.changes(server::loads_of_others(loads, session + 1, kDevices));
    member.reported.reported(changes);
    for (const LoadOfDevice& load : changes) clock_.after(member.delay, [tell = member.loads, load] { tell(load); });
  }
  if (is_looking_) {
    clock_.after(kLook, [this] { look(); });
  } else {
    meter_.rest();
  }
}

}  // namespace remotecl::schedule
