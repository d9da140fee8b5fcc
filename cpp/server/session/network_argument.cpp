#include "server/session/network_argument.h"

#include <algorithm>
#include <utility>

namespace remotecl::server {
namespace {

void add(NetworkStats& to, const NetworkStats& more) {
  to.sockets += more.sockets;
  to.opened += more.opened;
  to.bytes_sent += more.bytes_sent;
  to.bytes_received += more.bytes_received;
}

}  // namespace

void LiveNetworks::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  for (auto& [network, live] : networks_) network->stop();
}

std::size_t LiveNetworks::stop_present() {
  MutexLock lock(mutex_);
  std::size_t count = 0;
  for (auto& [network, live] : networks_) {
    if (std::exchange(live.is_stopped, true)) continue;
    network->stop();
    ++count;
  }
  return count;
}

bool LiveNetworks::has_some() const {
  MutexLock lock(mutex_);
  return std::any_of(networks_.begin(), networks_.end(), [](const auto& one) { return !one.second.is_stopped; });
}

std::map<std::uint32_t, NetworkStats> LiveNetworks::stats() const {
  MutexLock lock(mutex_);
  std::map<std::uint32_t, NetworkStats> sums = past_;
  for (const auto& [network, live] : networks_) server::add(sums[live.device], network->stats());
  return sums;
}

void LiveNetworks::add(Network& network, std::uint32_t device) {
  MutexLock lock(mutex_);
  networks_.emplace(&network, Live{device});
  if (stopped_) network.stop();
}

void LiveNetworks::remove(Network& network) {
  MutexLock lock(mutex_);
  const auto at = networks_.find(&network);
  NetworkStats last = network.stats();
  last.sockets = 0;
  server::add(past_[at->second.device], last);
  networks_.erase(at);
}

NetworkArgument::NetworkArgument(Device& device, const NetworkShape& shape, Network::Hooks hooks,
                                 Ref<LiveNetworks> live, Ref<SessionCounters> counters)
    : Memory(nullptr, std::move(counters)),
      device_(device),
      shape_(shape),
      hooks_(std::move(hooks)),
      live_(std::move(live)) {}

NetworkArgument::~NetworkArgument() {
  if (network_) live_->remove(*network_);
}

cl_int NetworkArgument::make(Device& device, Native& native) {
  if (&device != &device_) return CL_INVALID_MEM_OBJECT;
  if (!reserve(device, shape_.memory_size(), native)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  cl_int error = CL_SUCCESS;
  network_ = Network::make(device, shape_, hooks_, error);
  if (!network_) return error;
  live_->add(*network_, device.index());
  native.memory = network_->memory();
  return clRetainMemObject(native.memory);
}

}  // namespace remotecl::server
