#include "server/status/status_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace remotecl::server {
namespace {

// The wire format.
struct EncodedReport {
  StatusReport::Totals totals;
  Sequence<StatusReport::OfDevice> devices;
  Sequence<SessionStatus> sessions;
  Sequence<LinkStatus> links;
  Sequence<RdmaStatus> rdma_sessions, rdma_links;
  Sequence<UserStatus> users;
  Sequence<SocketStatus> user_sockets;
  Array<std::uint64_t> weights;  // of sessions
  REMOTECL_FIELDS(totals, devices, sessions, links, rdma_sessions, rdma_links, users, user_sockets, weights)
};

// Of sessions or links, in their order.
template <class Each>
void add_rdma(std::vector<Each>& all, const Sequence<RdmaStatus>& rdma) {
  std::size_t i = 0;
  rdma.for_each([&](const RdmaStatus& status) { all[i++].rdma = state_of(status); });
}

// Adds all numbers of a message, and never wraps, because some come from processes that run clients' kernels.
template <class T>
void add_up(T& sum, const T& more) {
  if constexpr (WireMessage<T>) {
    sum.fields([&more](auto&... sums) { more.fields([&](const auto&... each) { (add_up(sums, each), ...); }); });
  } else {
    sum = more > std::numeric_limits<T>::max() - sum ? std::numeric_limits<T>::max() : sum + more;
  }
}

}  // namespace

void StatusReport::add(const StatusReport& other) {
  add_up(totals, other.totals);
  devices.resize(std::max(devices.size(), other.devices.size()));
  for (std::size_t i = 0; i < other.devices.size(); ++i) {
    OfDevice& device = devices[i];
    const OfDevice& more = other.devices[i];
    add_up(device.memory_used, more.memory_used);
    add_up(device.queue_depth, more.queue_depth);
    device.busy_permille += (1000 - std::min(1000u, device.busy_permille)) * std::min(1000u, more.busy_permille) / 1000;
    device.observed_ms = std::max(device.observed_ms, more.observed_ms);
    add_up(device.busy_us, more.busy_us);
    add_up(device.placed, more.placed);
  }
  for (const OfUser& usage : other.users) add(usage);
  sessions.insert(sessions.end(), other.sessions.begin(), other.sessions.end());
  links.insert(links.end(), other.links.begin(), other.links.end());
  if (sessions.size() > kStatusSessionsMax) sessions.resize(kStatusSessionsMax);
}

void StatusReport::add(const OfUser& usage) {
  if (usage.busy_us == 0 && usage.commands == 0 && usage.placed == 0 && usage.sockets.opened == 0) return;
  const auto is_same = [&usage](const OfUser& each) { return each.device == usage.device && each.user == usage.user; };
  const auto at = std::ranges::find_if(users, is_same);
  if (at == users.end()) return users.push_back(usage);
  add_up(at->busy_us, usage.busy_us);
  add_up(at->commands, usage.commands);
  add_up(at->placed, usage.placed);
  add_up(at->sockets, usage.sockets);
}

void StatusReport::hide_other_users(const std::string& viewer) {
  std::erase_if(users, [&](const OfUser& usage) {
    return usage.user != viewer && std::ranges::find(sessions, usage.user, &OfSession::user) == sessions.end();
  });
}

StatusReport StatusReport::past() const {
  StatusReport past;
  past.users = users;
  for (OfUser& usage : past.users) usage.sockets.open = 0;
  past.totals = totals;
  past.totals.sessions = past.totals.rdma_clients.channels = past.totals.rdma_peers.channels = 0;
  past.totals.sockets.open = 0;
  for (const OfDevice& device : devices) past.devices.push_back({0, 0, 0, 0, device.busy_us, device.placed});
  return past;
}

std::vector<SessionStatus> views(const std::vector<StatusReport::OfSession>& sessions) {
  std::vector<SessionStatus> views;
  views.reserve(sessions.size());
  for (const auto& each : sessions) {
    views.push_back({each.is_own, each.session, each.address, each.host, each.program, each.user, each.process,
                     each.age_ms, each.over_ms, each.commands, each.traffic,
                     std::span<const std::uint64_t>(each.memory), std::span<const std::uint64_t>(each.placed)});
  }
  return views;
}

std::vector<LinkStatus> views(const std::vector<StatusReport::OfLink>& links) {
  std::vector<LinkStatus> views;
  views.reserve(links.size());
  for (const auto& each : links) {
    views.push_back({each.is_own, each.peer, each.address, each.is_connected, each.traffic});
  }
  return views;
}

std::vector<UserStatus> views(const std::vector<StatusReport::OfUser>& users) {
  std::vector<UserStatus> views;
  views.reserve(users.size());
  for (const auto& each : users) views.push_back({each.user, each.device, each.busy_us, each.commands, each.placed});
  return views;
}

std::vector<std::uint64_t> weight_views(const std::vector<StatusReport::OfSession>& sessions) {
  std::vector<std::uint64_t> views;
  views.reserve(sessions.size());
  for (const auto& each : sessions) views.push_back(static_cast<std::uint64_t>(std::llround(each.weight * 1000)));
  return views;
}

std::vector<SocketStatus> socket_views(const std::vector<StatusReport::OfUser>& users) {
  std::vector<SocketStatus> views;
  views.reserve(users.size());
  for (const auto& each : users) views.push_back(each.sockets);
  return views;
}

std::vector<std::byte> encode(const StatusReport& report) {
  const auto sessions = views(report.sessions);
  const auto links = views(report.links);
  const auto rdma_sessions = rdma_views(report.sessions);
  const auto rdma_links = rdma_views(report.links);
  const auto users = views(report.users);
  const auto sockets = socket_views(report.users);
  const auto weights = weight_views(report.sessions);
  const EncodedReport encoded{report.totals,
                              std::span<const StatusReport::OfDevice>(report.devices),
                              std::span<const SessionStatus>(sessions),
                              std::span<const LinkStatus>(links),
                              std::span<const RdmaStatus>(rdma_sessions),
                              std::span<const RdmaStatus>(rdma_links),
                              std::span<const UserStatus>(users),
                              std::span<const SocketStatus>(sockets),
                              std::span<const std::uint64_t>(weights)};
  std::vector<std::byte> bytes(wire::encoded_size(encoded));
  std::byte* at = bytes.data();
  wire::encode(at, encoded);
  return bytes;
}

bool decode(Bytes bytes, std::size_t devices, StatusReport& report) {
  EncodedReport encoded;
  Decoder decoder(bytes);
  if (!decoder.read(encoded) || !decoder.at_end() || encoded.devices.size() != devices) return false;
  if (encoded.rdma_sessions.size() != encoded.sessions.size()) return false;
  if (encoded.rdma_links.size() != encoded.links.size()) return false;
  if (encoded.user_sockets.size() != encoded.users.size()) return false;
  if (encoded.weights.size() != encoded.sessions.size()) return false;
  report = {};
  report.totals = encoded.totals;
  encoded.devices.for_each([&](const StatusReport::OfDevice& device) { report.devices.push_back(device); });
  encoded.sessions.for_each([&](const SessionStatus& each) {
    auto& session = report.sessions.emplace_back(StatusReport::OfSession{each.is_own != 0,
                                                                         each.session,
                                                                         std::string(each.address),
                                                                         std::string(each.host),
                                                                         std::string(each.program),
                                                                         std::string(each.user),
                                                                         each.process,
                                                                         each.age_ms,
                                                                         each.over_ms,
                                                                         each.commands,
                                                                         each.traffic,
                                                                         {},
                                                                         {},
                                                                         {},
                                                                         {},
                                                                         1});
    session.weight = static_cast<double>(encoded.weights[report.sessions.size() - 1]) / 1000;
    for (std::size_t i = 0; i < each.memory.size(); ++i) session.memory.push_back(each.memory[i]);
    for (std::size_t i = 0; i < each.placed.size(); ++i) session.placed.push_back(each.placed[i]);
  });
  encoded.links.for_each([&](const LinkStatus& each) {
    report.links.push_back(
        {each.is_own != 0, each.peer, std::string(each.address), each.is_connected != 0, each.traffic, {}});
  });
  add_rdma(report.sessions, encoded.rdma_sessions);
  add_rdma(report.links, encoded.rdma_links);
  std::vector<SocketStatus> sockets;
  encoded.user_sockets.for_each([&sockets](const SocketStatus& each) { sockets.push_back(each); });
  std::size_t user = 0;
  encoded.users.for_each([&](const UserStatus& each) {
    const SocketStatus& its = sockets[user++];
    if (each.device >= devices) return;
    report.add({std::string(each.user), each.device, each.busy_us, each.commands, each.placed, its});
  });
  return true;
}

}  // namespace remotecl::server
