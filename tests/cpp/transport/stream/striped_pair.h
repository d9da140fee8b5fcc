#pragma once

#include <memory>
#include <vector>

#include "runtime/transport/stream/striped_connection.h"
#include "transport/tls/tls_pair.h"

namespace remotecl {

// Both ends of a striped connection in this process, and its carriers.
struct StripedPair {
  std::unique_ptr<StripedConnection> near, far;
  std::vector<std::shared_ptr<Connection>> near_carriers, far_carriers;

  void add(std::unique_ptr<Connection> near_carrier, std::unique_ptr<Connection> far_carrier) {
    near_carriers.push_back(std::move(near_carrier));
    far_carriers.push_back(std::move(far_carrier));
  }
  void join() {
    near = std::make_unique<StripedConnection>(near_carriers);
    far = std::make_unique<StripedConnection>(far_carriers);
  }
};

inline StripedPair make_striped_pair(std::size_t carriers) {
  StripedPair pair;
  for (std::size_t i = 0; i < carriers; ++i) {
    auto [near, far] = make_tcp_pair();
    pair.add(std::move(near), std::move(far));
  }
  pair.join();
  return pair;
}

inline StripedPair make_striped_tls_pair(std::size_t carriers) {
  StripedPair pair;
  for (std::size_t i = 0; i < carriers; ++i) {
    TlsPair ends = make_tls_pair();
    pair.add(std::move(ends.near), std::move(ends.far));
  }
  pair.join();
  return pair;
}

}  // namespace remotecl
