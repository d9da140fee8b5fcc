#include "server/status/load_board.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace remotecl::server {

LoadBoard::LoadBoard(const NativeDriver& driver, std::function<void()> find_ends)
    : driver_(driver), find_ends_(std::move(find_ends)), meters_(driver.devices().size()) {}

void LoadBoard::add(std::uint64_t session, double weight) {
  MutexLock lock(mutex_);
  weights_[session] = weight;
}

void LoadBoard::remove(std::uint64_t session) {
  reporter_.unwatch(session);
  MutexLock lock(mutex_);
  weights_.erase(session);
}

void LoadBoard::watch(std::uint64_t session, std::vector<std::uint32_t> devices, LoadReporter::Take take) {
  reporter_.watch(session, std::move(devices), std::move(take));
  if (wants_loads_) wants_loads_(true);
}

void LoadBoard::unwatch(std::uint64_t session) {
  reporter_.unwatch(session);
  if (wants_loads_) wants_loads_(false);
  MutexLock lock(mutex_);
  elsewhere_.clear();
}

void LoadBoard::set_elsewhere(std::span<const LoadOfDevice> loads) {
  {
    MutexLock lock(mutex_);
    elsewhere_.resize(meters_.size());
    for (const LoadOfDevice& load : loads) {
      if (load.index >= elsewhere_.size()) continue;
      elsewhere_[load.index] = {static_cast<double>(load.queued_us) / 1e6,
                                static_cast<double>(load.weight_thousandths) / 1e3};
    }
  }
  reporter_.changed();
}

void LoadBoard::watch_from_elsewhere(LoadReporter::Take take) {
  if (take == nullptr) return reporter_.unwatch(kElsewhere);
  std::vector<std::uint32_t> devices;
  for (const auto& device : driver_.devices()) devices.push_back(device->index());
  reporter_.watch(kElsewhere, std::move(devices), std::move(take));
}

std::vector<SessionLoad> LoadBoard::look() {
  if (std::exchange(is_busy_, false) && ++looks_ % kLooksPerSearch == 0) find_ends_();
  const auto now = std::chrono::steady_clock::now();
  MutexLock lock(mutex_);
  std::vector<SessionLoad> loads{{kElsewhere, elsewhere_}};
  for (const auto& [session, weight] : weights_)
    loads.push_back({session, std::vector<SessionLoad::OnDevice>(meters_.size())});
  for (const auto& device : driver_.devices()) {
    const DeviceLoad::Work work = device->load().work();
    const auto runs = [](const DeviceLoad::OfSession& each) { return each.is_running; };
    LoadMeter& meter = meters_[device->index()];
    meter.look(now, work.ended, std::ranges::any_of(work.sessions, runs));
    for (const DeviceLoad::OfSession& each : work.sessions) {
      is_busy_ = true;
      const auto at = std::ranges::find(loads, each.session, &SessionLoad::session);
      if (at == loads.end() || each.session == kElsewhere) continue;
      at->devices[device->index()] = {meter.seconds(each.depth, each.is_running), weights_[each.session]};
    }
  }
  return loads;
}

void LoadBoard::pause() {
  for (LoadMeter& meter : meters_) meter.rest();
}

void LoadBoard::rest() {
  is_busy_ = false;
  pause();
}

}  // namespace remotecl::server
