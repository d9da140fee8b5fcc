#pragma once

#include <cstddef>
#include <list>
#include <map>

#include "extras/kernel_sockets/space/socket_address.h"

namespace remotecl::server {

// A bounded set of addresses: a new one displaces the least recently used. One thread.
class RecentPeers {
 public:
  explicit RecentPeers(std::size_t most) : most_(most) {}

  void add(const SocketPeer& peer) {
    if (use(peer)) return;
    by_use_.push_front(peer);
    entries_.emplace(peer, by_use_.begin());
    if (entries_.size() <= most_) return;
    entries_.erase(by_use_.back());
    by_use_.pop_back();
    has_forgotten_ = true;
  }
  // Returns whether it is known.
  bool use(const SocketPeer& peer) {
    const auto entry = entries_.find(peer);
    if (entry == entries_.end()) return false;
    by_use_.splice(by_use_.begin(), by_use_, entry->second);
    return true;
  }
  // Whether an address that is not known may have been.
  bool has_forgotten() const { return has_forgotten_; }

 private:
  const std::size_t most_;
  std::list<SocketPeer> by_use_;  // the last one first
  std::map<SocketPeer, std::list<SocketPeer>::iterator> entries_;
  bool has_forgotten_ = false;
};

}  // namespace remotecl::server
