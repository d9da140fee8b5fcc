#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/crypto/key_pin.h"
#include "runtime/handshake/handshake.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "server/peer/peer_link.h"
#include "server/util/worker.h"

namespace remotecl::server {

// The links of a session, made as its client requests. Owned by the session; any thread, unless noted
// otherwise.
class PeerTable {
 public:
  static constexpr std::size_t kAddressesMax = 16;  // of one peer
  static constexpr std::size_t kHostMax = 255;      // bytes of a name

  // A connection that a client requests from this server.
  struct Attempt {
    PeerId peer;
    LinkId link;
    Invitation invitation;
    std::vector<Address> addresses;
    std::optional<KeyPin> pin;  // of the server's key, if it speaks TLS
  };

  explicit PeerTable(const PeerContext& context) : context_(context) {}

  // A connection that proves to know `secret` may become the link to `peer`.
  void accept(PeerId peer, LinkId link, const Secret& secret) EXCLUDES(mutex_);
  struct Invited {
    PeerId peer;
    Secret secret;
  };
  // On a connection's own thread: returns the peer whose secret the Hello proves to know, or nothing. Waits
  // until the client has announced the peer, because the peer's connection may be faster.
  std::optional<Invited> find(const Hello& hello, Deadline deadline) EXCLUDES(mutex_);
  // Adds one of the two connections of an accepted link; the second one starts the link. Ends a connection
  // whose secret is no longer valid.
  void attach(const Invited& invited, Role role, StreamCarrier carrier, const Address& from) EXCLUDES(mutex_);
  // The streams that peers which have lost a connection may continue.
  std::vector<OpenStream> streams(Role role) EXCLUDES(mutex_);
  // Connects to a session of another server in the background and reports the outcome to the client. Throws
  // ProtocolError if there are too many attempts.
  void connect(Attempt attempt) EXCLUDES(mutex_);
  // `gone`: the peer's session is lost.
  void close(PeerId peer, bool gone) EXCLUDES(mutex_);

  // The traffic of the links to one peer, including former links.
  struct LinkTraffic {
    PeerId peer;
    std::string address;
    bool connected;
    Traffic traffic;
    RdmaState rdma;
  };
  std::vector<LinkTraffic> traffic() EXCLUDES(mutex_);

  // Whether a peer can have this number.
  static bool can_be(PeerId peer) { return peer != 0 && peer <= kPeersMax; }

  enum Which { kConnected, kOrLost };
  // Null if there is no such link.
  Ref<PeerLink> find(PeerId peer, Which which = kConnected) EXCLUDES(mutex_);
  bool gone(PeerId peer) EXCLUDES(mutex_);

  // Ends all links and waits for their threads. A link that could not start may still be ending meanwhile.
  void stop() EXCLUDES(session_lock, mutex_);
  // Releases everything that links have received. Call it after stop().
  void clear() REQUIRES(session_lock) EXCLUDES(mutex_);

 private:
  struct Peer {
    LinkId wanted = 0;  // the link that the client has asked for last; 0: none
    Secret secret{};    // of that link, if this side accepts
    bool accepts = false;
    bool gone = false;
    StreamCarrier control, bulk;  // until both have come
    Ref<PeerLink> link;
    std::string address;  // its host, with its port if it listens for this server
    Traffic past;         // of former links
    RdmaState past_rdma;  // likewise

    void want(LinkId id, bool as_acceptor) {
      wanted = id;
      accepts = as_acceptor;
      gone = false;
      control = {};
      bulk = {};
    }
  };

  // These return a link that could not start: it is to be ended without the lock.
  Ref<PeerLink> attach_locked(const Invited& invited, Role role, StreamCarrier carrier, const Address& from)
      REQUIRES(mutex_);
  // Does nothing if the client wants another link by now, or none.
  [[nodiscard]] Ref<PeerLink> begin(PeerId peer, LinkId id, const std::string& address, Ref<PeerLink> made)
      REQUIRES(mutex_);
  void end(const Ref<PeerLink>& former) EXCLUDES(mutex_);
  void try_to_link(const Attempt& attempt) EXCLUDES(mutex_);
  // Throws ConnectionError.
  void link(const Attempt& attempt) EXCLUDES(mutex_);
  // Replaces `addresses` by the one where the connection was accepted, which is numeric.
  StreamCarrier open(const Attempt& attempt, Role role, std::vector<Address>& addresses);

  const PeerContext context_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<PeerId, Peer> peers_ GUARDED_BY(mutex_);
  std::vector<Ref<PeerLink>> formers_ GUARDED_BY(mutex_);  // replaced, but not ended yet
  std::size_t attempts_ GUARDED_BY(mutex_) = 0;
  std::stop_source stopping_;  // ends attempts
  Worker connectors_{context_.strand.on_failure(), 8};
};

}  // namespace remotecl::server
