#pragma once

#include "server/isolation/daemon_requests.h"
#include "server/peer/link_dialer.h"

namespace remotecl::server {

// Links of a session's process, which cannot connect to anybody: the daemon does, shakes hands, and hands over what the
// other server has accepted. Any thread except the one that receives from the channel.
class DaemonLinkDialer final : public LinkDialer {
 public:
  explicit DaemonLinkDialer(DaemonRequests& requests) : requests_(requests) {}

  Dialed dial(const Wanted& wanted, std::chrono::milliseconds timeout, Deadline deadline,
              const std::stop_token& stop) override;

 private:
  DaemonRequests& requests_;
};

}  // namespace remotecl::server
