#include "extras/scheduling/placement/known_devices.h"

#include <algorithm>
#include <utility>

#include "runtime/client/session/session.h"

namespace remotecl {
namespace {

// Guesses until transfers have been measured. A short round trip shows loopback or shared memory.
constexpr double kLocalRoundTrip = 60e-6, kLocalBytesPerSecond = 4e9, kBytesPerSecond = 1e9;
constexpr schedule::Link kInside{8e9, 30e-6};

schedule::DeviceType type_of(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return schedule::DeviceType::kGpu;
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return schedule::DeviceType::kCpu;
  return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? schedule::DeviceType::kAccelerator : schedule::DeviceType::kOther;
}

// A guess at operations per second, which only predicts kernels that have never run: a GPU's compute unit has some 128
// lanes, a CPU's thread 8.
double speed_of(const Device& device) {
  const double lanes = type_of(device.type()) == schedule::DeviceType::kGpu ? 16 : 1;
  const auto units = std::max<cl_uint>(device.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, 1), 1);
  const auto clock = std::max<cl_uint>(device.number<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY, 1000), 1);
  return lanes * units * clock;
}

}  // namespace

schedule::DeviceId KnownDevices::add(schedule::Scheduler& scheduler, Device& device, double round_trip_s) {
  if (const auto at = ids_.find(&device); at != ids_.end()) return at->second;
  const auto [server, is_new] = servers_.try_emplace(&device.session());
  if (is_new) {
    const double rate = round_trip_s < kLocalRoundTrip ? kLocalBytesPerSecond : kBytesPerSecond;
    const schedule::Link guess{rate, round_trip_s / 2};
    server->second = {scheduler.add_server(guess, kInside), guess, guess, {}};
  }
  const auto memory = device.number<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, 0);
  // Programs are built for the members before kernels are placed, so to the scheduler a device has only the kernels
  // that it was given.
  const schedule::DeviceId id = scheduler.add_device({.server = server->second.id,
                                                      .type = type_of(device.type()),
                                                      .builds = false,
                                                      .speed = speed_of(device),
                                                      .memory_bytes = memory == 0 ? UINT64_MAX : memory});
  ids_.emplace(&device, id);
  devices_.push_back(&device);
  return id;
}

void KnownDevices::report_links(schedule::Scheduler& scheduler) {
  const auto take = [](double measured, schedule::Link& link) {
    if (measured <= 0 || measured == link.bytes_per_s) return false;
    link.bytes_per_s = measured;
    return true;
  };
  for (auto& [session, server] : servers_) {
    const bool is_up = take(session->bytes_per_s(LinkMeter::Way::kUp), server.up);
    const bool is_down = take(session->bytes_per_s(LinkMeter::Way::kDown), server.down);
    if (is_up || is_down) scheduler.network().set_access(server.id, server.up, server.down);
  }
  for (auto& [session, server] : servers_) report_peers(scheduler, *session, server);
}

void KnownDevices::report_peers(schedule::Scheduler& scheduler, const Session& session, Server& server) {
  session.peer_meters().for_each([&](PeerId sender, double bytes_per_s) {
    double& known = server.from[sender];
    if (std::exchange(known, bytes_per_s) == bytes_per_s) return;
    const auto at = std::ranges::find_if(servers_, [=](const auto& other) { return other.first->peer_id() == sender; });
    if (at == servers_.end()) return;
    const Server& other = at->second;
    // The other direction is measured separately, perhaps later. The higher rate of the two is the more reliable one.
    const auto back = other.from.find(session.peer_id());
    const double rate = std::max(bytes_per_s, back == other.from.end() ? 0 : back->second);
    scheduler.network().set_link(other.id, server.id, {rate, other.down.latency + server.up.latency});
  });
}

schedule::DeviceId KnownDevices::id(const Device& device) const {
  const auto at = ids_.find(&device);
  return at == ids_.end() ? schedule::kNoDevice : at->second;
}

schedule::DeviceId KnownDevices::id(const Session& session, std::uint32_t index) const {
  const auto at = std::find_if(devices_.begin(), devices_.end(), [&](const Device* device) {
    return &device->session() == &session && device->index() == index;
  });
  return at == devices_.end() ? schedule::kNoDevice : static_cast<schedule::DeviceId>(at - devices_.begin());
}

}  // namespace remotecl
