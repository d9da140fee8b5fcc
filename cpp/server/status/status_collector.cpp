#include "server/status/status_collector.h"

#include <unistd.h>

#include <algorithm>

#include "runtime/protocol/frames.h"
#include "server/util/age.h"

namespace remotecl::server {
namespace {

std::string host_name() {
  char name[kStatusTextMax + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

Traffic sum(const std::vector<StatusReport::OfLink>& links) {
  Traffic sum;
  for (const auto& link : links) sum += link.traffic;
  return sum;
}

// Adds what a session and its links have moved by RDMA.
void add_rdma(StatusReport::Totals& totals, const RdmaState& session, const std::vector<StatusReport::OfLink>& links) {
  totals.rdma_clients += status_of(session).traffic;
  totals.rdma_costs.clients += cost_of(session);
  for (const auto& link : links) {
    totals.rdma_peers += status_of(link.rdma).traffic;
    totals.rdma_costs.peers += cost_of(link.rdma);
  }
}

StatusReport::OfDevice device_status_of(Device& device) {
  const DeviceLoad::Busy busy = device.load().busy();
  const auto total = std::chrono::duration_cast<std::chrono::microseconds>(device.load().busy_total());
  return {device.memory().used(),
          device.load().depth(),
          busy.permille,
          busy.observed_ms,
          static_cast<std::uint64_t>(total.count()),
          device.load().placed()};
}

StatusReport::OfUser usage_of(const StatusReport::OfSession& session, Device& device, bool has_ended) {
  DeviceLoad& load = device.load();
  const DeviceLoad::Usage usage = has_ended ? load.take_usage(session.session) : load.usage(session.session);
  const auto busy = std::chrono::duration_cast<std::chrono::microseconds>(usage.busy);
  const auto sockets = session.sockets.find(device.index());
  StatusReport::OfUser had{session.user,   device.index(), static_cast<std::uint64_t>(busy.count()),
                           usage.commands, usage.placed,   {}};
  if (sockets != session.sockets.end()) had.sockets = sockets->second;
  if (has_ended) had.sockets.open = 0;
  return had;
}

}  // namespace

DaemonIdentity DaemonIdentity::own() {
  return {host_name(), static_cast<std::uint64_t>(::getpid()), std::chrono::steady_clock::now()};
}

std::vector<std::byte> encode_status(Token token, const DaemonIdentity& daemon, const NativeDriver& driver,
                                     const StatusReport& report) {
  std::vector<DeviceStatus> devices;
  for (const auto& device : driver.devices()) {
    const StatusReport::OfDevice& status = report.devices[device->index()];
    devices.push_back({device->index(), device->traits().name, status.memory_used, device->memory().total(),
                       status.queue_depth, status.busy_permille, status.observed_ms, status.placed});
  }
  const auto sessions = views(report.sessions);
  const auto links = views(report.links);
  const auto rdma_sessions = rdma_views(report.sessions);
  const auto rdma_links = rdma_views(report.links);
  const auto users = views(report.users);
  const auto sockets = socket_views(report.users);
  const auto weights = weight_views(report.sessions);
  const Status status{token,
                      REMOTECL_VERSION,
                      daemon.host,
                      daemon.process,
                      milliseconds_since(daemon.begun),
                      report.totals.sessions,
                      report.totals.commands,
                      report.totals.clients,
                      report.totals.peers,
                      std::span<const DeviceStatus>(devices),
                      std::span<const SessionStatus>(sessions),
                      std::span<const LinkStatus>(links)};
  const StatusRdma rdma{report.totals.rdma_clients, report.totals.rdma_peers,
                        std::span<const RdmaStatus>(rdma_sessions), std::span<const RdmaStatus>(rdma_links)};
  ByteBuffer bytes;
  append_message(bytes, StatusWithRdma{status,
                                       rdma,
                                       {std::span<const UserStatus>(users)},
                                       report.totals.rdma_costs,
                                       {std::span<const SocketStatus>(sockets)},
                                       {std::span<const StoreStatus>(report.stores)},
                                       {std::span<const std::uint64_t>(weights)}});
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

StatusCollector::StatusCollector(const NativeDriver& driver)
    : driver_(driver), daemon_(DaemonIdentity::own()), sampler_(driver, [this] { find_ends(); }) {}

StatusCollector::~StatusCollector() { stop(); }

void StatusCollector::add(const Ref<StatusSource>& session) {
  MutexLock lock(mutex_);
  sessions_.emplace(session.get(), session);
}

void StatusCollector::remove(StatusSource& session) {
  const StatusReport::OfSession last = session.status();
  const std::vector<StatusReport::OfLink> links = session.links();
  const Traffic peers = sum(links);
  MutexLock lock(mutex_);
  past_.totals.begun += 1;
  past_.totals.commands += last.commands;
  past_.totals.clients += last.traffic;
  past_.totals.peers += peers;
  add_rdma(past_.totals, last.rdma, links);
  past_.totals.rdma_clients.channels = past_.totals.rdma_peers.channels = 0;
  for (const auto& [device, sockets] : last.sockets) past_.totals.sockets += sockets;
  past_.totals.sockets.open = 0;
  for (const auto& device : driver_.devices()) past_.add(usage_of(last, *device, true));
  sessions_.erase(&session);
}

std::vector<Ref<StatusSource>> StatusCollector::sessions() const {
  MutexLock lock(mutex_);
  std::vector<Ref<StatusSource>> sessions;
  for (const auto& [key, session] : sessions_) sessions.push_back(session);
  return sessions;
}

void StatusCollector::find_ends() {
  for (const auto& session : sessions()) session->find_ends();
}

StatusReport StatusCollector::report(const StatusSource* asker, const Viewer& viewer, std::chrono::seconds patience) {
  StatusReport report;
  for (const auto& device : driver_.devices()) report.devices.push_back(device_status_of(*device));
  sampler_.watch(patience);  // from now on, so the first answer is always that nothing was observed
  MutexLock lock(mutex_);
  report.totals = past_.totals;
  report.users = past_.users;
  report.totals.sessions = sessions_.size();
  report.totals.begun += sessions_.size();
  for (const auto& [key, session] : sessions_) {
    const bool is_own = key == asker;
    StatusReport::OfSession status = session->status();
    std::vector<StatusReport::OfLink> links = session->links();
    report.totals.commands += status.commands;
    report.totals.clients += status.traffic;
    report.totals.peers += sum(links);
    add_rdma(report.totals, status.rdma, links);
    for (const auto& [device, sockets] : status.sockets) report.totals.sockets += sockets;
    for (const auto& device : driver_.devices()) {
      const StatusReport::OfUser usage = usage_of(status, *device, false);
      status.placed.push_back(usage.placed);
      report.add(usage);
    }
    const bool is_visible = is_own || viewer.sees(status.user, session->address());
    if (!is_visible || report.sessions.size() >= kStatusSessionsMax) continue;
    status.is_own = is_own;
    report.sessions.push_back(std::move(status));
    for (auto& link : links) {
      link.is_own = is_own;
      if (!is_own) link.peer = 0;
      report.links.push_back(std::move(link));
    }
  }
  if (!viewer.is_operator) report.hide_other_users(viewer.user);
  return report;
}

std::vector<std::byte> StatusCollector::answer(Token token, const StatusSource& asker) {
  return encode_status(token, daemon_, driver_,
                       report(&asker, {false, asker.status().user, asker.address()}, LoadSampler::kPatience));
}

}  // namespace remotecl::server
