#include "extras/scheduling/schedule/network.h"

#include <cmath>

namespace remotecl::schedule {

// A server may say anything of its links.
Network::Way Network::checked(const Link& link) {
  const bool is_speed = link.bytes_per_s > 0 && std::isfinite(link.bytes_per_s);
  const bool is_time = link.latency >= 0 && std::isfinite(link.latency);
  return {1 / (is_speed ? link.bytes_per_s : Link().bytes_per_s), is_time ? link.latency : Link().latency};
}

Network::Network() { servers_.emplace_back(); }

ServerId Network::add_server(const Link& access, const Link& inside) {
  servers_.push_back({checked(access), checked(access), checked(inside), checked(access), {}});
  for (Server& server : servers_) {
    if (!server.measured.empty()) server.measured.resize(servers_.size(), kNotMeasured);
  }
  return static_cast<ServerId>(servers_.size() - 1);
}

void Network::set_access(ServerId server, const Link& up, const Link& down) {
  servers_[server].up = checked(up);
  servers_[server].down = checked(down);
  servers_[server].nearest = nearest(servers_[server]);
}

Network::Way Network::nearest(const Server& server) {
  Way result{std::min(server.up.per_byte, server.down.per_byte), std::min(server.up.latency, server.down.latency)};
  for (const Way& way : server.measured) {
    if (way.latency < 0) continue;
    result = {std::min(result.per_byte, way.per_byte), std::min(result.latency, way.latency)};
  }
  return result;
}

void Network::set_link(ServerId one, ServerId other, const Link& link) {
  set_one_way(one, other, link);
  set_one_way(other, one, link);
}

void Network::set_one_way(ServerId from, ServerId to, const Link& link) {
  std::vector<Way>& row = servers_[from].measured;
  row.resize(servers_.size(), kNotMeasured);
  row[to] = checked(link);
  servers_[from].nearest = nearest(servers_[from]);
}

}  // namespace remotecl::schedule
