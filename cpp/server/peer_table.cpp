#include "server/peer_table.h"

#include <algorithm>

#include "runtime/greeting/dialer.h"
#include "runtime/greeting/greeting.h"
#include "runtime/greeting/secret.h"
#include "runtime/greeting/stripes.h"
#include "runtime/transport/striped_connection.h"
#include "server/log.h"
#include "server/protocol_error.h"
#include "server/session.h"

namespace remotecl::server {
namespace {

// Of an address that does not answer at all; others may be tried after it.
constexpr std::chrono::milliseconds kConnectTimeout{1500};

ServerName name_of(const PeerTable::Attempt& attempt, const Address& address) {
  return {address, {}, {attempt.pin, {}, {}, {}}};
}

}  // namespace

void PeerTable::accept(PeerId peer, LinkId link, const Secret& secret) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.accepted = link;
  entry.secret = secret;
  entry.accepts = true;
  entry.gone = false;
  entry.control = {};
  entry.bulk = {};
  accepts_more_.notify_all();
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
    if (accepts_more_.wait_until(mutex_, deadline) == std::cv_status::timeout) return std::nullopt;
  }
}

void PeerTable::attach(const Invited& invited, Role role, PeerEnd end, const Address& from) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[invited.peer];
  if (stopped_ || !entry.accepts || !same_secret(entry.secret, invited.secret)) return;
  (role == Role::kPeerControl ? entry.control : entry.bulk) = std::move(end);
  if (entry.control.connection == nullptr || entry.bulk.connection == nullptr) return;
  entry.accepts = false;
  begin(invited.peer, entry.accepted, from.host,
        make_ref<PeerLink>(session_, invited.peer, entry.accepted, invited.secret, std::move(entry.control),
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

void PeerTable::begin(PeerId peer, LinkId id, const std::string& address, Ref<PeerLink> made) {
  Peer& entry = peers_[peer];
  entry.address = address;
  Ref<PeerLink>& link = entry.link;
  if (link) {
    entry.past += link->traffic();
    link->close();
    formers_.push_back(link);
    connectors_.post([this, former = link] { end(former); });
  }
  link = std::move(made);
  // Before the link can say that it has ended.
  session_.outbox().send(PeerState{peer, id, 1, {}});
  link->start();
  const LogScope scope(session_.id());
  log_info("linked to peer {}", peer);
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
    peers_[attempt.peer].gone = false;
  }
  connectors_.post([this, attempt = std::move(attempt)] {
    try_addresses(attempt);
    MutexLock lock(mutex_);
    --attempts_;
  });
}

PeerEnd PeerTable::open(const Attempt& attempt, const Address& address, Role role) {
  const Dialer dialer(name_of(attempt, address));
  std::unique_ptr<Connection> connection = dialer.open(kConnectTimeout);
  {
    MutexLock lock(mutex_);
    if (stopped_) throw ConnectionError("the session ends");
    greeting_.insert(connection.get());
  }
  const auto leave = [&] {
    MutexLock lock(mutex_);
    greeting_.erase(connection.get());
  };
  std::uint64_t features = role == Role::kPeerBulk ? bulk_features() | stripes_features() : 0;
  if (session_.window().count() != 0) features |= kFeatureResumable;
  Welcome welcome{};
  try {
    dialer.secure(*connection, Patience::of().first_word);
    welcome = greet_session(*connection, address, role, attempt.invitation, features);
  } catch (...) {
    leave();
    throw;
  }
  leave();
  const Connection* const stream = connection.get();
  if (role == Role::kPeerBulk) connection = share_memory(std::move(connection), address, welcome, session_.window());
  const bool is_resumable = (welcome.features & kFeatureResumable) != 0;
  auto* const memory = connection.get() == stream ? nullptr : static_cast<SharedMemoryConnection*>(connection.get());
  if (memory == nullptr) {
    const Secret key = stripes_key(attempt.invitation, role, features, welcome.features);
    auto further = open_stripes(
        *connection, address, {attempt.invitation.session, attempt.invitation.epoch, key}, stripes_of(welcome.features),
        [&dialer](std::chrono::milliseconds timeout, Deadline deadline) { return dialer.connect(timeout, deadline); });
    if (!further.empty()) {
      further.insert(further.begin(), std::move(connection));
      connection = std::make_unique<StripedConnection>(std::move(further));
    }
  }
  return {pace(std::move(connection), session_.grant().paces()), is_resumable, memory};
}

void PeerTable::try_addresses(const Attempt& attempt) {
  std::string reasons;
  for (const Address& address : attempt.addresses) {
    try {
      auto control = open(attempt, address, Role::kPeerControl);
      auto bulk = open(attempt, address, Role::kPeerBulk);
      auto link = make_ref<PeerLink>(session_, attempt.peer, attempt.link, attempt.invitation.secret,
                                     std::move(control), std::move(bulk));
      link->reconnect_to(name_of(attempt, address), attempt.invitation);
      MutexLock lock(mutex_);
      if (!stopped_) begin(attempt.peer, attempt.link, address.text(), std::move(link));
      return;
    } catch (const std::exception& error) {
      if (!reasons.empty()) reasons += "; ";
      reasons += error.what();
    }
  }
  session_.outbox().send(PeerState{attempt.peer, attempt.link, 0, reasons});
}

void PeerTable::close(PeerId peer, bool gone) {
  MutexLock lock(mutex_);
  Peer& entry = peers_[peer];
  entry.accepts = false;
  entry.gone = gone;
  entry.control = {};
  entry.bulk = {};
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
    LinkTraffic& link = links.emplace_back(LinkTraffic{id, peer.address, !peer.link->lost(), peer.past});
    link.traffic += peer.link->traffic();
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
    accepts_more_.notify_all();
    for (Connection* connection : greeting_) connection->shutdown();
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
