#include "extras/kernel_sockets/server/space_argument.h"

#include <algorithm>
#include <utility>

namespace remotecl::server {
namespace {

SocketStatus status_of(const KernelSocketSpace& network) {
  const SpaceStats stats = network.stats();
  return {stats.sockets, stats.opened, stats.bytes_sent, stats.bytes_received};
}

}  // namespace

void LiveSpaces::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  for (auto& [network, live] : networks_) network->stop();
}

std::size_t LiveSpaces::stop_present() {
  MutexLock lock(mutex_);
  std::size_t count = 0;
  for (auto& [network, live] : networks_) {
    if (std::exchange(live.is_stopped, true)) continue;
    network->stop();
    ++count;
  }
  return count;
}

bool LiveSpaces::has_some() const {
  MutexLock lock(mutex_);
  return std::any_of(networks_.begin(), networks_.end(), [](const auto& one) { return !one.second.is_stopped; });
}

std::map<std::uint32_t, SocketStatus> LiveSpaces::status() const {
  MutexLock lock(mutex_);
  std::map<std::uint32_t, SocketStatus> sums = past_;
  for (const auto& [network, live] : networks_) sums[live.device] += status_of(*network);
  return sums;
}

void LiveSpaces::add(KernelSocketSpace& network, std::uint32_t device) {
  MutexLock lock(mutex_);
  networks_.emplace(&network, Live{device});
  if (stopped_) network.stop();
}

void LiveSpaces::remove(KernelSocketSpace& network) {
  MutexLock lock(mutex_);
  const auto at = networks_.find(&network);
  SocketStatus last = status_of(network);
  last.open = 0;
  past_[at->second.device] += last;
  networks_.erase(at);
}

SpaceArgument::SpaceArgument(Device& device, const SpaceShape& shape, KernelSocketSpace::Hooks hooks,
                             Ref<LiveSpaces> live, Ref<SessionCounters> counters)
    : ProvidedArgument(nullptr, std::move(counters)),
      device_(device),
      shape_(shape),
      hooks_(std::move(hooks)),
      live_(std::move(live)) {}

SpaceArgument::~SpaceArgument() {
  if (network_) live_->remove(*network_);
}

cl_int SpaceArgument::make(Device& device, Native& native) {
  if (&device != &device_) return CL_INVALID_MEM_OBJECT;
  if (!reserve(device, shape_.memory_size(), native)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  cl_int error = CL_SUCCESS;
  network_ = KernelSocketSpace::make(device, shape_, hooks_, error);
  if (!network_) return error;
  live_->add(*network_, device.index());
  native.memory = network_->memory();
  return clRetainMemObject(native.memory);
}

}  // namespace remotecl::server
