#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

// A way for bytes, as measured.
struct Link {
  double bytes_per_s = 1e9;
  Seconds latency = 100e-6;

  Seconds seconds(std::uint64_t bytes) const { return latency + static_cast<double>(bytes) / bytes_per_s; }
};

// The links between servers, and between them and this process. Only the links of this process are always known,
// because it talks with each server. Until the link between two servers was measured, it is taken to be as slow as the
// slower of their links to this process and as far as both together.
class Network {
 public:
  // A link in the form that is computed with.
  struct Way {
    Seconds per_byte = 0;
    Seconds latency = 0;

    Seconds seconds(double bytes) const { return latency + bytes * per_byte; }
  };

  Network();

  // Servers, and this process.
  std::size_t size() const { return servers_.size(); }
  // `access`: the link to this process. `inside`: between devices of the server.
  ServerId add_server(const Link& access, const Link& inside);
  // From this process to the server, and back.
  void set_access(ServerId server, const Link& up, const Link& down);
  // A measured link of two servers, both ways.
  void set_link(ServerId one, ServerId other, const Link& link);

  // How long `bytes` take from one location to another.
  Seconds seconds(ServerId from, ServerId to, double bytes) const;
  // A lower bound of seconds() from any other location.
  Seconds least_seconds(ServerId to, double bytes) const { return servers_[to].nearest.seconds(bytes); }

 private:
  struct Server {
    Way up, down, inside;
    Way nearest;                // of up, down and measured, each part by itself
    std::vector<Way> measured;  // by the other server, or empty; latency below 0 where it was not
  };

  static constexpr Way kNotMeasured{0, -1};

  static Way checked(const Link& link);
  static Way nearest(const Server& server);
  void set_one_way(ServerId from, ServerId to, const Link& link);

  std::vector<Server> servers_;  // the first one is this process
};

// Inline, because decisions ask it for each device.
inline Seconds Network::seconds(ServerId from, ServerId to, double bytes) const {
  const Server &one = servers_[from], &other = servers_[to];
  if (from == to) return one.inside.seconds(bytes);
  if (!one.measured.empty() && one.measured[to].latency >= 0) return one.measured[to].seconds(bytes);
  return one.down.latency + other.up.latency + bytes * std::max(one.down.per_byte, other.up.per_byte);
}

}  // namespace remotecl::schedule
