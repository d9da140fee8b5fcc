#include "extras/kernel_sockets/server/peer_names.h"

#include <utility>
#include <vector>

namespace remotecl::server {

void PeerNames::add(PeerId peer) {
  MutexLock lock(mutex_);
  links_.try_emplace(peer);
}

void PeerNames::linked(PeerId peer, const Ref<LinkPipes>& link) {
  MutexLock lock(mutex_);
  links_[peer] = link;
}

void PeerNames::remove(PeerId peer) {
  MutexLock lock(mutex_);
  links_.erase(peer);
}

void PeerNames::connect(Order order) {
  std::vector<Ref<LinkPipes>> links;
  bool is_complete = true;
  {
    MutexLock lock(mutex_);
    for (const auto& [peer, link] : links_) {
      if (link) links.push_back(link);
      is_complete = is_complete && link;
    }
  }
  make_ref<NameSearch>(std::move(order), std::move(links), is_complete)->go_on();
}

}  // namespace remotecl::server
