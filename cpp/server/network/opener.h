#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/network/socket_address.h"
#include "server/network/socket_broker.h"
#include "server/network/wake_list.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Calls the broker on up to four helper threads, which are started when they are needed. The proxy's; one thread. The
// threads end by themselves once it is gone: a name server's silence delays nobody.
class Opener {
 public:
  enum class What : std::uint8_t { kConnect, kBind, kResolve };
  struct Order {
    std::uint64_t socket = 0;
    What what = What::kConnect;
    SocketAddress address;
    int backlog = 0;
  };
  struct Result {
    std::uint64_t socket = 0;
    What what = What::kConnect;
    SocketAddress::Kind kind = SocketAddress::Kind::kTcp;
    int error = 0;  // a positive errno
    Descriptor descriptor;
    std::uint16_t port = 0;
    SocketPeer peer;
  };

  Opener(Ref<SocketBroker> broker, Ref<WakeList> list);
  ~Opener();
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

  void begin(Order order);
  bool has_results() const;
  std::vector<Result> take();

 private:
  class Work;
  const Ref<Work> work_;
};

}  // namespace remotecl::server
