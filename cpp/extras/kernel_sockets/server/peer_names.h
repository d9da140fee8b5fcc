#pragma once

#include <map>

#include "extras/kernel_sockets/server/link_pipes.h"
#include "extras/kernel_sockets/space/remote_names.h"
#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"

namespace remotecl::server {

// The names that kernels have bound on the session's other servers, which are asked in the order of their numbers.
// Shared by the session and its networks; any thread.
class PeerNames final : public RemoteNames {
 public:
  // The client has named the peer.
  void add(PeerId peer) EXCLUDES(mutex_);
  void linked(PeerId peer, const Ref<LinkPipes>& link) EXCLUDES(mutex_);
  // The peer's session is lost.
  void remove(PeerId peer) EXCLUDES(mutex_);

  void connect(Order order) override EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::map<PeerId, Ref<LinkPipes>> links_ GUARDED_BY(mutex_);  // null: not linked so far
};

}  // namespace remotecl::server
