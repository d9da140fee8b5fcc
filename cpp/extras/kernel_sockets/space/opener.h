#pragma once

#include "extras/kernel_sockets/space/inbox.h"
#include "extras/kernel_sockets/space/lane_message.h"
#include "extras/kernel_sockets/space/socket_broker.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// Calls the broker on up to four helper threads, which are started when they are needed. Shared by the lanes of a
// network; any thread. Nobody waits for the threads, which end by themselves once it is gone, so a silent name
// server delays nobody.
class Opener {
 public:
  using What = BrokerReply::What;
  struct Order {
    std::uint64_t socket = 0;
    What what = What::kConnect;
    SocketAddress address;
    int backlog = 0;
    Ref<Inbox> reply_to;
  };

  explicit Opener(Ref<SocketBroker> broker);
  ~Opener();
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

  void begin(Order order);

 private:
  class Work;
  const Ref<Work> work_;
};

}  // namespace remotecl::server
