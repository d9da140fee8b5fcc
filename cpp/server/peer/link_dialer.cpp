#include "server/peer/link_dialer.h"

#include <utility>

namespace remotecl::server {

Joiner joiner(Ref<LinkDialer> dialer, LinkDialer::Wanted wanted) {
  return [dialer = std::move(dialer), wanted = std::move(wanted)](const JoinRequest& request,
                                                                  std::chrono::milliseconds timeout, Deadline deadline,
                                                                  const std::stop_token& stop) {
    LinkDialer::Dialed dialed = dialer->dial({wanted.addresses, wanted.pin, request}, timeout, deadline, stop);
    return Joined{std::move(dialed.connection), dialed.taken};
  };
}

}  // namespace remotecl::server
