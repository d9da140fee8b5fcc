#include "server/peer/peer_table.h"

#include <algorithm>

#include "runtime/crypto/secret.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/rdma_request.h"
#include "runtime/handshake/stripes.h"
#include "runtime/transport/tcp/resolver.h"
#include "runtime/transport/tcp/tcp.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"
#include "server/wire/rdma_log.h"

namespace remotecl::server {
namespace {

// For an address where no server has answered yet, so that other addresses get their turn. Long enough for
// the client's AcceptPeer to reach the server there.
constexpr std::chrono::milliseconds kStrangerTimeout{3000};

std::chrono::milliseconds left_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::clamp(left, std::chrono::milliseconds(1), kStrangerTimeout);
}

ServerName name_of(const PeerTable::Attempt& attempt, const Address& address) {
  return {address, {}, {attempt.pin, {}, {}, {}}};
}

}  // namespace

// While this object lives, stop() ends its connection.
class PeerTable::Approach {
 public:
  Approach(PeerTable& table, Connection& connection) : table_(table), connection_(connection) {
    MutexLock lock(table_.mutex_);
    if (table_.stopped_) throw ConnectionError("the session ends");
    table_.in_handshake_.insert(&connection_);
  }
  ~Approach() {
    MutexLock lock(table_.mutex_);
    table_.in_handshake_.erase(&connection_);
  }
  Approach(const Approach&) = delete;
  Approach& operator=(const Approach&) = delete;

 private:
  PeerTable& table_;
  Connection& connection_;
};

void PeerTable::accept(PeerId peer, LinkId link, const Secret& secret) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.want(link, true);
  entry.secret = secret;
  names_->add(peer);
  changed_.notify_all();
}

std::optional<PeerTable::Invited> PeerTable::find(const Hello& hello, Deadline deadline) {
  MutexLock lock(mutex_);
  for (;;) {
    if (stopped_) return std::nullopt;
    for (const auto& [id, peer] : peers_) {
      if (peer.accepts && same_secret(connecting_proof(peer.secret, hello), hello.secret)) {
        return Invited{id, peer.secret};
      }
    }
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return std::nullopt;
  }
}

void PeerTable::attach(const Invited& invited, Role role, StreamCarrier carrier, const Address& from) {
  Ref<PeerLink> unstarted;
  {
    MutexLock lock(mutex_);
    unstarted = attach_locked(invited, role, std::move(carrier), from);
  }
  if (unstarted) unstarted->end();
}

Ref<PeerLink> PeerTable::attach_locked(const Invited& invited, Role role, StreamCarrier carrier, const Address& from) {
  Peer& entry = peers_[invited.peer];
  if (stopped_ || !entry.accepts || !same_secret(entry.secret, invited.secret)) return nullptr;
  (role == Role::kPeerControl ? entry.control : entry.bulk) = std::move(carrier);
  if (entry.control.connection == nullptr || entry.bulk.connection == nullptr) return nullptr;
  entry.accepts = false;
  return begin(invited.peer, entry.wanted, from.host,
               make_ref<PeerLink>(context_, invited.peer, entry.wanted, invited.secret, std::move(entry.control),
                                  std::move(entry.bulk)));
}

std::vector<OpenStream> PeerTable::streams(Role role) {
  MutexLock lock(mutex_);
  std::vector<OpenStream> streams;
  for (const auto& [id, peer] : peers_) {
    ResumableConnection* const stream = peer.link && !peer.link->lost() ? peer.link->stream(role) : nullptr;
    if (stream != nullptr) streams.push_back({peer.link->secret(), stream, peer.link});
  }
  return streams;
}

Ref<PeerLink> PeerTable::begin(PeerId peer, LinkId id, const std::string& address, Ref<PeerLink> made) {
  Peer& entry = peers_[peer];
  if (entry.wanted != id) return nullptr;
  entry.address = address;
  Ref<PeerLink>& link = entry.link;
  if (link) {
    entry.past += link->traffic();
    entry.past_rdma += link->rdma().past();
    link->close();
    formers_.push_back(link);
    connectors_.post([this, former = link] { end(former); });
  }
  link = std::move(made);
  names_->linked(peer, link->pipes());
  changed_.notify_all();
  // Sent before the link can report its end.
  context_.client.send(PeerState{peer, id, 1, {}});
  if (!link->start()) return link;
  const LogScope scope(context_.strand.id());
  log_info("linked to peer {}", peer);
  return nullptr;
}

void PeerTable::end(const Ref<PeerLink>& former) {
  former->stop();
  MutexLock lock(mutex_);
  std::erase(formers_, former);
}

void PeerTable::connect(Attempt attempt) {
  {
    MutexLock lock(mutex_);
    if (attempts_ >= kPeersMax) throw ProtocolError("too many peers are being connected to");
    ++attempts_;
    peers_[attempt.peer].want(attempt.link, false);
    names_->add(attempt.peer);
  }
  connectors_.post([this, attempt = std::move(attempt)] {
    try_addresses(attempt);
    MutexLock lock(mutex_);
    --attempts_;
  });
}

StreamCarrier PeerTable::open(const Attempt& attempt, const Address& number, Role role, Deadline deadline) {
  const Dialer dialer(name_of(attempt, number));
  const bool is_bulk = role == Role::kPeerBulk;
  std::uint64_t features = is_bulk ? bulk_features() | stripes_features() : 0;
  if (context_.recovery.window().count() != 0) features |= kFeatureResumable;
  const RdmaState rdma = rdma_wish(dialer.encrypts(), !context_.grant.rate_limits().empty());
  if (is_bulk) features |= rdma_features(rdma);
  std::unique_ptr<Connection> connection;
  std::optional<Approach> approach;
  try {
    connection = dialer.open(left_until(deadline));
    approach.emplace(*this, *connection);
    dialer.secure(*connection, deadline);
  } catch (const ConnectionError& error) {
    throw NoServer(error.what());
  }
  const auto shake_hands =
      is_bulk ? handshake_for_session : handshake_as_stranger;  // the control connection comes first
  const Welcome welcome = shake_hands(*connection, number, role, attempt.invitation, features, deadline);
  approach.reset();
  const auto join = [&](std::unique_ptr<Connection> first) {
    const Secret key = stripes_key(attempt.invitation, role, features, welcome.features);
    return join_stripes(std::move(first), number, {attempt.invitation.session, attempt.invitation.epoch, key},
                        stripes_of(welcome.features), [&dialer](std::chrono::milliseconds timeout, Deadline end) {
                          return dialer.connect(timeout, end);
                        });
  };
  // RDMA has ports of its own, which rules cannot name, so its hosts are checked with the server's port.
  const auto may_dial = [this, &number](const std::string& host) {
    return context_.rules.objection({host, number.port}, context_.address).empty();
  };
  StreamCarrier carrier =
      upgrade_bulk(std::move(connection), number,
                   {BulkEnd::Side::kConnects, welcome.features & features, context_.recovery.window(), join,
                    rdma_key(attempt.invitation, role, features, welcome.features), nullptr, may_dial, rdma,
                    log_rdma(context_.strand.id(), "peer " + std::to_string(attempt.peer)),
                    hold_locked(context_.transfers.counters())});
  carrier.connection = limit_rate(std::move(carrier.connection), context_.grant.rate_limits());
  return carrier;
}

void PeerTable::link(const Attempt& attempt, const Address& number, Deadline deadline) {
  auto control = open(attempt, number, Role::kPeerControl, deadline);
  auto bulk = open(attempt, number, Role::kPeerBulk, Patience::of_server(context_.recovery.window()));
  auto link = make_ref<PeerLink>(context_, attempt.peer, attempt.link, attempt.invitation.secret, std::move(control),
                                 std::move(bulk));
  link->reconnect_to(name_of(attempt, number), attempt.invitation);
  Ref<PeerLink> unstarted;
  {
    MutexLock lock(mutex_);
    if (!stopped_) unstarted = begin(attempt.peer, attempt.link, number.text(), std::move(link));
  }
  if (unstarted) unstarted->end();
}

PeerTable::Outcome PeerTable::try_address(const Attempt& attempt, const Address& address, std::set<std::string>& tried,
                                          Deadline deadline) {
  const LogScope scope(context_.strand.id());
  const auto note = [&attempt](std::string_view why) { log_info("no link to peer {}: {}", attempt.peer, why); };
  Outcome outcome{false, true,
                  "no server that is to be linked has answered at " + address.text() +
                      "; can this server's machine reach that address? Its log (--log-level info) says more"};
  std::vector<Address> numbers{address};
  try {
    if (!tcp::connects_elsewhere()) numbers = tcp::resolve(address, left_until(deadline));
  } catch (const ConnectionError& error) {
    note(error.what());
    numbers.clear();
  }
  for (const Address& number : numbers) {
    if (!tried.insert(number.text()).second) continue;
    std::string objection;  // names are checked by the code that resolves them
    if (ip_number(number.host)) objection = context_.rules.objection(number, context_.address);
    if (!objection.empty()) {
      note(objection);
      // The client must not learn what a name resolves to.
      if (number == address) outcome = {false, false, objection};
      continue;
    }
    try {
      link(attempt, number, deadline);
      return {true, false, ""};
    } catch (const NoServer& error) {
      note(error.what());
    } catch (const std::exception& error) {  // reported by a server
      note(error.what());
      outcome = {false, false, error.what()};
    }
  }
  return outcome;
}

void PeerTable::try_addresses(const Attempt& attempt) {
  // The time that it takes would reveal whether a port is open. A client on this machine can find that out
  // itself.
  const bool is_local = context_.address.is_loopback();
  std::string reasons;
  std::set<std::string> tried;
  for (const Address& address : attempt.addresses) {
    const Deadline deadline = std::chrono::steady_clock::now() + kStrangerTimeout;
    const Outcome outcome = try_address(attempt, address, tried, deadline);
    if (outcome.is_linked) return;
    if (outcome.is_stranger && !is_local) rest_until(deadline);
    if (!reasons.empty()) reasons += "; ";
    reasons += outcome.reason;
  }
  context_.client.send(PeerState{attempt.peer, attempt.link, 0, reasons});
}

void PeerTable::rest_until(Deadline deadline) {
  MutexLock lock(mutex_);
  while (!stopped_ && changed_.wait_until(mutex_, deadline) == std::cv_status::no_timeout) {
  }
}

void PeerTable::close(PeerId peer, bool gone) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.want(0, false);
  entry.gone = gone;
  if (gone) names_->remove(peer);
  changed_.notify_all();
  if (entry.link) entry.link->close();
}

Ref<PeerLink> PeerTable::find(PeerId peer, Which which) {
  MutexLock lock(mutex_);
  const auto at = peers_.find(peer);
  if (at == peers_.end() || !at->second.link) return nullptr;
  return which == kConnected && at->second.link->lost() ? nullptr : at->second.link;
}

std::vector<PeerTable::LinkTraffic> PeerTable::traffic() {
  MutexLock lock(mutex_);
  std::vector<LinkTraffic> links;
  for (const auto& [id, peer] : peers_) {
    if (!peer.link) continue;
    LinkTraffic& link =
        links.emplace_back(LinkTraffic{id, peer.address, !peer.link->lost(), peer.past, peer.past_rdma});
    link.traffic += peer.link->traffic();
    link.rdma += peer.link->rdma();
  }
  return links;
}

Ref<PeerLink> PeerTable::await(PeerId peer, Deadline deadline) {
  MutexLock lock(mutex_);
  for (;;) {
    const Peer& entry = peers_[peer];
    if (stopped_ || entry.gone) return nullptr;
    if (entry.link && !entry.link->lost()) return entry.link;
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return nullptr;
  }
}

bool PeerTable::gone(PeerId peer) {
  MutexLock lock(mutex_);
  const auto at = peers_.find(peer);
  return at != peers_.end() && at->second.gone;
}

void PeerTable::stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
    for (Connection* connection : in_handshake_) connection->shutdown();
    for (auto& [id, peer] : peers_) {
      if (peer.link) peer.link->close();
    }
  }
  connectors_.stop();
  std::vector<Ref<PeerLink>> links;
  {
    MutexLock lock(mutex_);
    links = formers_;
    for (auto& [id, peer] : peers_) {
      if (peer.link) links.push_back(peer.link);
    }
  }
  for (const auto& link : links) link->stop();
}

void PeerTable::clear() {
  MutexLock lock(mutex_);
  for (const auto& former : formers_) former->inbox().clear();
  for (auto& [id, peer] : peers_) {
    if (peer.link) peer.link->inbox().clear();
  }
  formers_.clear();
}

}  // namespace remotecl::server
