#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

// The links of a session, made as its client says. Owned by the session; any thread where nothing else is said.
class PeerTable {
 public:
  static constexpr PeerId kPeersMax = 64;
  static constexpr std::size_t kAddressesMax = 16;  // of one peer
  static constexpr std::size_t kHostMax = 255;      // bytes of a name

  // What a client asks this server to connect to.
  struct Attempt {
    PeerId peer;
    LinkId link;
    Invitation invitation;
    std::vector<Address> addresses;
    std::optional<KeyPin> pin;  // of its key, if it speaks TLS
  };

  explicit PeerTable(const PeerContext& context) : context_(context) {}

  // Whoever knows `secret` may become the link to `peer`.
  void accept(PeerId peer, LinkId link, const Secret& secret) EXCLUDES(mutex_);
  struct Invited {
    PeerId peer;
    Secret secret;
  };
  // On a connection's own thread: whose secret a Hello proves to know, after waiting for the client to name it, as that
  // may come later than the peer; empty when it does not.
  std::optional<Invited> find(const Hello& hello, Deadline deadline) EXCLUDES(mutex_);
  // One of the two connections of a link that is accepted; with the second one the link begins. Ends a connection whose
  // secret is not valid any more.
  void attach(const Invited& invited, Role role, StreamCarrier carrier, const Address& from) EXCLUDES(mutex_);
  // What peers may carry on that have lost a connection.
  std::vector<OpenStream> streams(Role role) EXCLUDES(mutex_);
  // Connects to a session of another server, beside everything else; the client hears of the outcome. Throws
  // ProtocolError when there are too many attempts.
  void connect(Attempt attempt) EXCLUDES(mutex_);
  // `gone`: the peer's session is lost.
  void close(PeerId peer, bool gone) EXCLUDES(mutex_);

  // What has passed the links to one peer, former ones too.
  struct LinkTraffic {
    PeerId peer;
    std::string address;
    bool connected;
    Traffic traffic;
  };
  std::vector<LinkTraffic> traffic() EXCLUDES(mutex_);

  enum Which { kConnected, kOrLost };
  // Null when there is no such link.
  Ref<PeerLink> find(PeerId peer, Which which = kConnected) EXCLUDES(mutex_);
  bool gone(PeerId peer) EXCLUDES(mutex_);

  // Ends all links and waits for their threads. Without the session's lock.
  void stop() EXCLUDES(mutex_);
  // Lets go of all that links have received. After stop(), with the session's lock.
  void clear() EXCLUDES(mutex_);

 private:
  struct Peer {
    LinkId accepted = 0;
    Secret secret{};
    bool accepts = false;
    bool gone = false;
    StreamCarrier control, bulk;  // until both are there
    Ref<PeerLink> link;
    std::string address;  // its host, and its port where it listens for us
    Traffic past;         // of former links
  };

  class Approach;
  // What has become of an address that the client has named.
  struct Outcome {
    bool is_linked = false;
    bool is_stranger = false;  // no server has answered: what is there instead is not for the client to know
    std::string told;          // why there is no link
  };

  void begin(PeerId peer, LinkId id, const std::string& address, Ref<PeerLink> made) REQUIRES(mutex_);
  void end(const Ref<PeerLink>& former) EXCLUDES(mutex_);
  void try_addresses(const Attempt& attempt) EXCLUDES(mutex_);
  // `tried`: the numbers of all addresses so far.
  Outcome try_address(const Attempt& attempt, const Address& address, std::set<std::string>& tried, Deadline deadline)
      EXCLUDES(mutex_);
  // Addresses are numbers from here on. Throws NoServer, ConnectionError.
  void link(const Attempt& attempt, const Address& number, Deadline deadline) EXCLUDES(mutex_);
  StreamCarrier open(const Attempt& attempt, const Address& number, Role role, Deadline deadline) EXCLUDES(mutex_);
  // Or until the session ends.
  void rest_until(Deadline deadline) EXCLUDES(mutex_);

  const PeerContext context_;
  Mutex mutex_;
  ConditionVariable accepts_more_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<PeerId, Peer> peers_ GUARDED_BY(mutex_);
  std::vector<Ref<PeerLink>> formers_ GUARDED_BY(mutex_);  // replaced, and not ended yet
  std::size_t attempts_ GUARDED_BY(mutex_) = 0;
  std::set<Connection*> in_handshake_ GUARDED_BY(mutex_);  // of attempts
  Worker connectors_{8};
};

}  // namespace remotecl::server
