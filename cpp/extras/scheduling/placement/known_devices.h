#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "extras/scheduling/schedule/scheduler.h"
#include "runtime/client/objects/device.h"

namespace remotecl {

// What the scheduler calls devices and servers. Guarded by the placement's lock.
class KnownDevices {
 public:
  // Adds the device, and its server, unless it has them. `round_trip_s`: to the server.
  schedule::DeviceId add(schedule::Scheduler& scheduler, Device& device, double round_trip_s);
  bool contains(const Device& device) const { return ids_.contains(&device); }
  // schedule::kNoDevice if it is unknown.
  schedule::DeviceId id(const Device& device) const;
  schedule::DeviceId id(const Session& session, std::uint32_t index) const;
  Device& device(schedule::DeviceId id) const { return *devices_[id]; }
  std::size_t count() const { return devices_.size(); }
  // Reports to the scheduler how fast bytes pass to and from each server, and between servers, where transfers have
  // measured it.
  void report_links(schedule::Scheduler& scheduler);

 private:
  struct Server {
    schedule::ServerId id = schedule::kClient;
    schedule::Link up{}, down{};
    std::map<PeerId, double> from;  // bytes per second from other servers, as reported to the scheduler
  };

  // Reports how fast bytes come to this server from others.
  void report_peers(schedule::Scheduler& scheduler, const Session& session, Server& server);

  std::unordered_map<const Device*, schedule::DeviceId> ids_;
  std::unordered_map<const Session*, Server> servers_;
  std::vector<Device*> devices_;  // by id; no parts of devices, so the platform keeps them
};

}  // namespace remotecl
