#pragma once

#include <vector>

#include "runtime/schedule/ids.h"
#include "runtime/schedule/link.h"

namespace remotecl::schedule {

// The links between servers, and between them and this process. Only the links of this process are always known,
// because it talks with each server. The link of two servers, until it was measured, is taken to be as slow as the
// slower of theirs to this process and as far as both together.
class Network {
 public:
  Network();

  // `access`: the link to this process. `inside`: between devices of the server.
  ServerId add_server(const Link& access, const Link& inside);
  void set_access(ServerId server, const Link& access);
  // A measured link of two servers, both ways.
  void set_link(ServerId one, ServerId other, const Link& link);

  Link between(ServerId from, ServerId to) const;

 private:
  struct Server {
    Link access, inside;
    std::vector<Link> measured;  // by the other server; latency below 0 where it was not
  };

  void set_one_way(ServerId from, ServerId to, const Link& link);

  std::vector<Server> servers_;  // the first one is this process
};

}  // namespace remotecl::schedule
