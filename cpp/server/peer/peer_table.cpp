#include "server/peer/peer_table.h"

#include <algorithm>
#include <set>

#include "runtime/crypto/secret.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/handshake.h"
#include "runtime/handshake/rdma_wish.h"
#include "runtime/handshake/stripes.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"
#include "server/wire/rdma_log.h"

namespace remotecl::server {
namespace {

// To connect to a server; its handshake may take longer.
constexpr std::chrono::milliseconds kDialTimeout{3000};

}  // namespace

void PeerTable::accept(PeerId peer, LinkId link, const Secret& secret) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.want(link, true);
  entry.secret = secret;
  context_.arguments.expect(peer);
  changed_.notify_all();
}

std::optional<PeerTable::Invited> PeerTable::find(const Hello& hello, Deadline deadline) {
  // A proof costs an HMAC, and everybody who waits is woken for each invitation.
  std::set<std::pair<PeerId, LinkId>> refuted;
  MutexLock lock(mutex_);
  for (;;) {
    if (stopped_) return std::nullopt;
    for (const auto& [id, peer] : peers_) {
      if (peer.accepts && refuted.emplace(id, peer.wanted).second &&
          same_secret(connecting_proof(peer.secret, hello), hello.secret)) {
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
  context_.arguments.linked(peer, link->arguments());
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
    context_.arguments.expect(attempt.peer);
  }
  connectors_.post([this, attempt = std::move(attempt)] {
    try_to_link(attempt);
    MutexLock lock(mutex_);
    --attempts_;
  });
}

StreamCarrier PeerTable::open(const Attempt& attempt, Role role, std::vector<Address>& addresses) {
  const bool is_bulk = role == Role::kPeerBulk;
  std::uint64_t features = is_bulk ? bulk_features() | stripes_features() : 0;
  if (context_.recovery.window().count() != 0) features |= kFeatureResumable;
  const RdmaState rdma = rdma_wish(attempt.pin.has_value(), !context_.grant.rate_limits().empty());
  if (is_bulk) features |= rdma_features(rdma);
  LinkDialer::Dialed dialed =
      context_.dialer->dial({addresses, attempt.pin, {role, attempt.invitation, features}}, kDialTimeout,
                            Patience::of_server(context_.recovery.window()), stopping_.get_token());
  const Address number = dialed.address;
  addresses = {number};
  const std::uint64_t taken = dialed.taken.features;
  const auto join = [&](std::unique_ptr<Connection> first) {
    return join_stripes(std::move(first), number,
                        {attempt.invitation.session, attempt.invitation.epoch, dialed.taken.stripes_key},
                        stripes_of(taken), joiner(context_.dialer, {addresses, attempt.pin, {}}));
  };
  // RDMA has ports of its own, which rules cannot name, so its hosts are checked with the server's port.
  const auto may_dial = [this, &number](const std::string& host) {
    return context_.rules.objection({host, number.port}, context_.address).empty();
  };
  StreamCarrier carrier = upgrade_bulk(std::move(dialed.connection), number,
                                       {BulkEnd::Side::kConnects, taken & features, context_.recovery.window(), join,
                                        rdma_key(attempt.invitation, role, features, taken), nullptr, may_dial, rdma,
                                        log_rdma(context_.strand.id(), "peer " + std::to_string(attempt.peer)),
                                        hold_locked(context_.transfers.counters())});
  carrier.connection = limit_rate(std::move(carrier.connection), context_.grant.rate_limits());
  return carrier;
}

void PeerTable::link(const Attempt& attempt) {
  std::vector<Address> addresses = attempt.addresses;
  auto control = open(attempt, Role::kPeerControl, addresses);
  auto bulk = open(attempt, Role::kPeerBulk, addresses);  // where the first one has been accepted
  const Address number = addresses.front();
  auto link = make_ref<PeerLink>(context_, attempt.peer, attempt.link, attempt.invitation.secret, std::move(control),
                                 std::move(bulk));
  link->reconnect_to({addresses, attempt.pin, {}}, attempt.invitation);
  Ref<PeerLink> unstarted;
  {
    MutexLock lock(mutex_);
    if (!stopped_) unstarted = begin(attempt.peer, attempt.link, number.text(), std::move(link));
  }
  if (unstarted) unstarted->end();
}

void PeerTable::try_to_link(const Attempt& attempt) {
  try {
    link(attempt);
  } catch (const std::exception& error) {
    {
      const LogScope scope(context_.strand.id());
      log_info("no link to peer {}: {}", attempt.peer, error.what());
    }
    context_.client.send(PeerState{attempt.peer, attempt.link, 0, error.what()});
  }
}

void PeerTable::close(PeerId peer, bool gone) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.want(0, false);
  entry.gone = gone;
  if (gone) context_.arguments.lost(peer);
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
    for (auto& [id, peer] : peers_) {
      if (peer.link) peer.link->close();
    }
  }
  stopping_.request_stop();
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
