#include "runtime/client/session/peer_links.h"

#include "runtime/base/printable.h"
#include "runtime/base/settings.h"
#include "runtime/client/session/session.h"
#include "runtime/client/support/ids.h"
#include "runtime/client/support/stderr_notice.h"
#include "runtime/crypto/secret.h"

namespace remotecl {
namespace {

// Servers without a link are tried again when they are needed, but not all the time.
constexpr std::chrono::seconds kRetryPause{5};
// Servers give up on addresses sooner; this limit is for a server that does not answer at all.
constexpr std::chrono::seconds kDecisionMax{10};

}  // namespace

PeerLinks::PeerLinks() : enabled_(settings::on_or_off("REMOTECL_PEERS").value_or(true)) {}

PeerLinks::Key PeerLinks::key(Session& one, Session& other) {
  return one.index() < other.index() ? Key{&one, &other} : Key{&other, &one};
}

void PeerLinks::connect(const std::vector<Session*>& sessions) {
  if (!enabled_) return;
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    for (std::size_t j = i + 1; j < sessions.size(); ++j) {
      if (sessions[i] == sessions[j] || sessions[i]->lost() || sessions[j]->lost()) continue;
      const Key both = key(*sessions[i], *sessions[j]);
      Entry& entry = links_[both];
      if (entry.state == State::kNone) begin(both, entry);
    }
  }
}

void PeerLinks::begin(const Key& key, Entry& entry) {
  // Their reports have to be read although no thread waits for them.
  key.first->add_interest();
  key.second->add_interest();
  entry.state = State::kConnecting;
  entry.both_tried = false;
  entry.begun_at = std::chrono::steady_clock::now();
  entry.reason.clear();
  attempt(key, entry);
}

void PeerLinks::attempt(const Key& key, Entry& entry) {
  Session& connecting = entry.reversed ? *key.second : *key.first;
  Session& accepting = entry.reversed ? *key.first : *key.second;
  entry.reported = 0;
  entry.id = next_id();
  const Secret secret = random_secret();
  accepting.send(AcceptPeer{connecting.peer_id(), entry.id, secret});
  accepting.submit_now();
  std::vector<PeerAddress> addresses;
  const Address& known = accepting.address();
  const Address& numeric = accepting.numeric_address();
  addresses.push_back({numeric.host, numeric.port});
  if (known != numeric) addresses.push_back({known.host, known.port});
  const Welcome& welcome = accepting.welcome();
  connecting.send(ConnectPeer{accepting.peer_id(), entry.id, welcome.session, welcome.epoch, secret,
                              std::span<const PeerAddress>(addresses),
                              accepting.key() ? std::as_bytes(std::span(*accepting.key())) : Bytes()});
  connecting.submit_now();
}

void PeerLinks::decided(const Key& key, Entry& entry, State state) {
  if (entry.state == State::kConnecting) {
    key.first->drop_interest();
    key.second->drop_interest();
  }
  entry.state = state;
  if (state == State::kFailed) {
    entry.failed_at = std::chrono::steady_clock::now();
    entry.failed_before = true;
  }
  changed_.notify_all();
}

// Neither server can reach the other.
void PeerLinks::fail(const Key& key, Entry& entry) {
  decided(key, entry, State::kFailed);
  entry.loss_notice.clear();
  if (std::exchange(entry.is_reported, true)) return;
  entry.loss_notice = key.first->address().text() + " and " + key.second->address().text() +
                      " cannot reach each other; data between them goes through this computer (" + entry.reason + ")";
  notice(std::exchange(entry.loss_notice, {}));
}

bool PeerLinks::is_due_again(const Entry& entry) {
  return entry.state == State::kFailed && std::chrono::steady_clock::now() - entry.failed_at > kRetryPause;
}

void PeerLinks::report_loss(Session& one, Session& other, Entry& entry) {
  if (!entry.loss_notice.empty() && !one.lost() && !other.lost()) notice(std::exchange(entry.loss_notice, {}));
}

bool PeerLinks::can_connect(Session& one, Session& other) {
  if (!enabled_ || &one == &other || one.lost() || other.lost()) return false;
  const MutexLock lock(mutex_);
  const auto at = links_.find(key(one, other));
  if (at == links_.end()) return true;
  Entry& entry = at->second;
  if (is_due_again(entry)) begin(at->first, entry);
  if (entry.state == State::kConnected || entry.state == State::kNone) return true;
  if (entry.state == State::kConnecting && !entry.failed_before) return true;
  report_loss(one, other, entry);
  return false;
}

std::optional<bool> PeerLinks::linked(Session& one, Session& other) {
  if (!enabled_ || &one == &other) return false;
  const MutexLock lock(mutex_);
  const Key both = key(one, other);
  Entry& entry = links_[both];
  const bool can_begin = !one.lost() && !other.lost();
  if (entry.state == State::kNone && can_begin) return std::nullopt;
  if (is_due_again(entry) && can_begin) begin(both, entry);
  give_up_late(both, entry);
  // A link that failed before delays no caller.
  if (entry.state == State::kConnecting && !entry.failed_before) return std::nullopt;
  if (entry.state != State::kConnected) report_loss(one, other, entry);
  return entry.state == State::kConnected;
}

bool PeerLinks::connected(Session& one, Session& other) {
  if (const std::optional<bool> known = linked(one, other)) return *known;
  MutexLock lock(mutex_);
  const Key both = key(one, other);
  Entry& entry = links_[both];
  if (entry.state == State::kNone && !one.lost() && !other.lost()) begin(both, entry);
  const auto decision = entry.begun_at + kDecisionMax;
  while (entry.state == State::kConnecting && changed_.wait_until(mutex_, decision) == std::cv_status::no_timeout) {
  }
  give_up_late(both, entry);
  if (entry.state != State::kConnected) report_loss(one, other, entry);
  return entry.state == State::kConnected;
}

void PeerLinks::give_up_late(const Key& key, Entry& entry) {
  const bool is_late = std::chrono::steady_clock::now() >= entry.begun_at + kDecisionMax;
  if (entry.state != State::kConnecting || !is_late) return;
  entry.reason = "no answer within " + std::to_string(kDecisionMax.count()) + " s";
  fail(key, entry);
}

std::vector<PeerLinks::Link> PeerLinks::links() {
  const MutexLock lock(mutex_);
  std::vector<Link> result;
  for (const auto& [both, entry] : links_) result.push_back({both.first, both.second, entry.state, entry.reason});
  return result;
}

Session* PeerLinks::find(PeerId peer) {
  for (const auto& [both, entry] : links_) {
    for (Session* const session : {both.first, both.second}) {
      if (session->peer_id() == peer && !session->lost()) return session;  // the id of a lost session may be used again
    }
  }
  return nullptr;
}

void PeerLinks::report(Session& from, const PeerState& state) {
  const MutexLock lock(mutex_);
  Session* const peer = find(state.peer);
  if (peer == nullptr) return;
  const Key both = key(from, *peer);
  const auto at = links_.find(both);
  if (at == links_.end() || at->second.id != state.link) return;  // belongs to a former link
  Entry& entry = at->second;
  if (state.is_connected != 0) {
    entry.reported |= &from == both.first ? 1 : 2;
    if (entry.state == State::kConnecting && entry.reported == 3) {
      entry.reason.clear();
      entry.loss_notice.clear();
      entry.failed_before = entry.is_reported = false;
      decided(both, entry, State::kConnected);
    }
    return;
  }
  if (entry.state == State::kConnected) {
    // The other end may not have noticed.
    peer->send(ClosePeer{from.peer_id(), 0});
    peer->submit_now();
    entry.reason = from.address().text() + ": " + printable(state.text);
    decided(both, entry, State::kFailed);
    // It may be the first sign of a lost server, which is reported separately.
    entry.loss_notice = "the link between " + both.first->address().text() + " and " + both.second->address().text() +
                        " was lost; data between them goes through this computer (" + printable(state.text) + ")";
    return;
  }
  if (entry.state != State::kConnecting) return;
  entry.reason += (entry.reason.empty() ? "" : "; ") + from.address().text() + ": " + printable(state.text);
  if (!std::exchange(entry.both_tried, true)) {
    entry.reversed = !entry.reversed;
    attempt(both, entry);
    return;
  }
  fail(both, entry);
}

void PeerLinks::undelivered(Session& from, const SignalUndelivered& signal) {
  const MutexLock lock(mutex_);
  Session* const peer = find(signal.peer);
  if (peer == nullptr || !links_.contains(key(from, *peer))) return;
  peer->send(SignalEvent{signal.event, signal.status, from.peer_id()});
  peer->submit_now();
}

void PeerLinks::lost(Session& session) {
  const MutexLock lock(mutex_);
  for (auto& [both, entry] : links_) {
    if (both.first != &session && both.second != &session) continue;
    Session& other = both.first == &session ? *both.second : *both.first;
    other.send(ClosePeer{session.peer_id(), 1});
    other.submit_now();
    entry.reason = session.address().text() + " was lost";
    decided(both, entry, State::kFailed);
  }
}

}  // namespace remotecl
