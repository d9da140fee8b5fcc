#include "runtime/schedule/network.h"

#include <algorithm>
#include <cmath>

namespace remotecl::schedule {
namespace {

constexpr Link kHere{1e12, 0};
constexpr Link kNotMeasured{1, -1};

// A server may say anything of its links.
Link checked(const Link& link) {
  const bool is_speed = link.bytes_per_s > 0 && std::isfinite(link.bytes_per_s);
  const bool is_time = link.latency >= 0 && std::isfinite(link.latency);
  return {is_speed ? link.bytes_per_s : Link().bytes_per_s, is_time ? link.latency : Link().latency};
}

}  // namespace

Network::Network() { servers_.push_back({kHere, kHere, {}}); }

ServerId Network::add_server(const Link& access, const Link& inside) {
  servers_.push_back({checked(access), checked(inside), {}});
  return static_cast<ServerId>(servers_.size() - 1);
}

void Network::set_access(ServerId server, const Link& access) { servers_[server].access = checked(access); }

void Network::set_link(ServerId one, ServerId other, const Link& link) {
  set_one_way(one, other, link);
  set_one_way(other, one, link);
}

void Network::set_one_way(ServerId from, ServerId to, const Link& link) {
  std::vector<Link>& row = servers_[from].measured;
  if (row.size() <= to) row.resize(to + 1, kNotMeasured);
  row[to] = checked(link);
}

Link Network::between(ServerId from, ServerId to) const {
  const Server &one = servers_[from], &other = servers_[to];
  if (from == to) return one.inside;
  if (to < one.measured.size() && one.measured[to].latency >= 0) return one.measured[to];
  return {std::min(one.access.bytes_per_s, other.access.bytes_per_s), one.access.latency + other.access.latency};
}

}  // namespace remotecl::schedule
