#include "simulated_device.h"

#include <algorithm>

namespace remotecl::schedule {

void SimulatedDevice::enqueue(const Work& work) {
  User& user = users_[work.user];
  if (user.tasks == 0) {
    user.weight = work.weight;
    user.virtual_time = virtual_now_;
    weight_ += work.weight;
  }
  ++user.tasks;
  user.queued += work.seconds;
  queued_ += work.seconds;
}

void SimulatedDevice::make_ready(const Work& work) {
  User& user = users_.at(work.user);
  if (user.ready.empty()) user.virtual_time = std::max(user.virtual_time, virtual_now_);
  user.ready.push_back(work);
}

std::optional<SimulatedDevice::Work> SimulatedDevice::begin() {
  User* next = nullptr;
  for (auto& [id, user] : users_) {
    if (!user.ready.empty() && (!next || user.virtual_time < next->virtual_time)) next = &user;
  }
  if (!next) return std::nullopt;
  const Work work = next->ready.front();
  next->ready.pop_front();
  virtual_now_ = next->virtual_time;
  next->virtual_time += work.seconds / next->weight;
  is_busy_ = true;
  return work;
}

void SimulatedDevice::end(const Work& work) {
  is_busy_ = false;
  User& user = users_.at(work.user);
  user.queued -= work.seconds;
  queued_ -= work.seconds;
  if (--user.tasks > 0) return;
  weight_ -= user.weight;
  users_.erase(work.user);
  if (users_.empty()) queued_ = weight_ = 0;  // whatever rounding has left
}

OthersLoad SimulatedDevice::others(std::uint32_t user) const {
  const auto found = users_.find(user);
  if (found == users_.end()) return {queued_, weight_};
  return {queued_ - found->second.queued, weight_ - found->second.weight};
}

}  // namespace remotecl::schedule
