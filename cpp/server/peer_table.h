#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "server/peer_link.h"
#include "server/worker.h"

namespace remotecl::server {

// The links of a session, made as its client says. Owned by the session; any thread where nothing else is said.
class PeerTable {
 public:
  static constexpr PeerId kPeersMax = 64;
  static constexpr std::size_t kAddressesMax = 16;  // of one peer

  explicit PeerTable(Session& session) : session_(session) {}

  // Whoever knows `secret` may become the link to `peer`.
  void accept(PeerId peer, const Secret& secret) EXCLUDES(mutex_);
  // On a connection's own thread: the peer that `secret` belongs to, after waiting for the client to name it; 0 when it
  // does not, as it may come later than the peer.
  PeerId find(const Secret& secret, std::chrono::milliseconds patience) EXCLUDES(mutex_);
  // One of the two connections of a link; with the second one the link begins.
  void attach(PeerId peer, Role role, std::unique_ptr<Connection> connection) EXCLUDES(mutex_);
  // Connects to a session of another server, beside everything else; the client hears of the outcome.
  void connect(PeerId peer, std::uint64_t session, std::uint64_t epoch, const Secret& secret,
               std::vector<Address> addresses) EXCLUDES(mutex_);
  // `gone`: the peer's session is lost.
  void close(PeerId peer, bool gone) EXCLUDES(mutex_);

  enum Which { kConnected, kOrLost };
  // Null when there is no such link.
  Ref<PeerLink> find(PeerId peer, Which which = kConnected) EXCLUDES(mutex_);
  bool gone(PeerId peer) EXCLUDES(mutex_);

  // Ends all links and waits for their threads. Without the session's lock.
  void stop() EXCLUDES(mutex_);

 private:
  struct Peer {
    Secret secret{};
    bool accepts = false;
    bool gone = false;
    std::unique_ptr<Connection> control, bulk;  // until both are there
    Ref<PeerLink> link;
  };

  void try_addresses(PeerId peer, std::uint64_t session, std::uint64_t epoch, const Secret& secret,
                     const std::vector<Address>& addresses) EXCLUDES(mutex_);

  Session& session_;
  Mutex mutex_;
  ConditionVariable accepts_more_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<PeerId, Peer> peers_ GUARDED_BY(mutex_);
  Worker connectors_{8};
};

}  // namespace remotecl::server
