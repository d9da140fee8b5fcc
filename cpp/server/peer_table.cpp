#include "server/peer_table.h"

#include "runtime/greeting/greeting.h"
#include "runtime/transport/shared_memory.h"
#include "runtime/transport/tcp.h"
#include "server/handshake.h"
#include "server/log.h"
#include "server/session.h"

namespace remotecl::server {
namespace {

// Of an address that does not answer at all; others may be tried after it.
constexpr std::chrono::milliseconds kConnectTimeout{1500};

}  // namespace

void PeerTable::accept(PeerId peer, const Secret& secret) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.secret = secret;
  entry.accepts = true;
  entry.gone = false;
  entry.control = nullptr;
  entry.bulk = nullptr;
  accepts_more_.notify_all();
}

PeerId PeerTable::find(const Secret& secret, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  MutexLock lock(mutex_);
  for (;;) {
    if (stopped_) return 0;
    for (const auto& [id, peer] : peers_) {
      if (peer.accepts && same_secret(peer.secret, secret)) return id;
    }
    if (accepts_more_.wait_until(mutex_, end) == std::cv_status::timeout) return 0;
  }
}

void PeerTable::attach(PeerId peer, Role role, std::unique_ptr<Connection> connection) {
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    Peer& entry = peers_[peer];
    (role == Role::kPeerControl ? entry.control : entry.bulk) = std::move(connection);
    if (entry.control == nullptr || entry.bulk == nullptr) return;
    entry.accepts = false;
    if (entry.link) {
      entry.link->close();
      connectors_.post([former = std::move(entry.link)] { former->stop(); });
    }
    entry.link = make_ref<PeerLink>(session_, peer, std::move(entry.control), std::move(entry.bulk));
    entry.link->start();
  }
  spdlog::info("session {:016x} is linked to peer {}", session_.id(), peer);
  session_.outbox().send(PeerState{peer, 1, {}});
}

void PeerTable::connect(PeerId peer, std::uint64_t session, std::uint64_t epoch, const Secret& secret,
                        std::vector<Address> addresses) {
  {
    MutexLock lock(mutex_);
    peers_[peer].gone = false;
  }
  connectors_.post([this, peer, session, epoch, secret, addresses = std::move(addresses)] {
    try_addresses(peer, session, epoch, secret, addresses);
  });
}

void PeerTable::try_addresses(PeerId peer, std::uint64_t session, std::uint64_t epoch, const Secret& secret,
                              const std::vector<Address>& addresses) {
  std::string reasons;
  for (const Address& address : addresses) {
    try {
      auto control = tcp::connect(address, kConnectTimeout);
      if (greet(*control, address, Role::kPeerControl, session, secret).epoch != epoch) {
        throw ConnectionError(address.text() + " is another server than the one that was meant");
      }
      auto bulk = tcp::connect(address, kConnectTimeout);
      const Welcome welcome = greet(*bulk, address, Role::kPeerBulk, session, secret, kFeatureSharedMemory);
      if ((welcome.features & kFeatureSharedMemory) != 0) {
        bulk->set_read_timeout(std::chrono::milliseconds(kHandshakeTimeoutMs));
        bulk = shared_memory::offer(std::move(bulk));
        if (bulk == nullptr) throw ConnectionError(address.text() + " ended the connection");
        bulk->set_read_timeout(std::chrono::milliseconds(0));
      }
      attach(peer, Role::kPeerControl, std::move(control));
      attach(peer, Role::kPeerBulk, std::move(bulk));
      return;
    } catch (const std::exception& error) {
      if (!reasons.empty()) reasons += "; ";
      reasons += error.what();
    }
  }
  session_.outbox().send(PeerState{peer, 0, reasons});
}

void PeerTable::close(PeerId peer, bool gone) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.accepts = false;
  entry.gone = gone;
  entry.control = nullptr;
  entry.bulk = nullptr;
  if (entry.link) entry.link->close();
}

Ref<PeerLink> PeerTable::find(PeerId peer, Which which) {
  MutexLock lock(mutex_);
  const auto at = peers_.find(peer);
  if (at == peers_.end() || !at->second.link) return nullptr;
  return which == kConnected && at->second.link->lost() ? nullptr : at->second.link;
}

bool PeerTable::gone(PeerId peer) {
  MutexLock lock(mutex_);
  const auto at = peers_.find(peer);
  return at != peers_.end() && at->second.gone;
}

void PeerTable::stop() {
  std::vector<Ref<PeerLink>> links;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    accepts_more_.notify_all();
    for (auto& [id, peer] : peers_) {
      if (peer.link) links.push_back(peer.link);
    }
  }
  connectors_.stop();
  for (const auto& link : links) link->stop();
}

}  // namespace remotecl::server
