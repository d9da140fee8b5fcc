#include "server/status_board.h"

#include <unistd.h>

#include <deque>

#include "runtime/protocol/frames.h"
#include "server/session.h"

namespace remotecl::server {
namespace {

std::string host_name() {
  char name[kStatusTextMax + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::uint64_t milliseconds_since(std::chrono::steady_clock::time_point begin) {
  const auto passed = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(passed).count());
}

Traffic sum(const std::vector<PeerTable::LinkTraffic>& links) {
  Traffic sum;
  for (const auto& link : links) sum += link.traffic;
  return sum;
}

// Sessions and links as they are told, with room for what their views point to.
struct Listed {
  std::deque<Session::Client> clients;
  std::deque<std::vector<std::uint64_t>> memory;
  std::deque<std::string> addresses;
  std::vector<SessionStatus> sessions;
  std::vector<LinkStatus> links;

  void add(Session& session, bool is_own, const std::vector<PeerTable::LinkTraffic>& of_session) {
    if (sessions.size() >= kStatusSessionsMax) return;
    const Session::Client& client = clients.emplace_back(session.client());
    const auto& bytes = memory.emplace_back(session.counters().memory());
    sessions.push_back({is_own ? 1u : 0u, addresses.emplace_back(session.address().text()), client.host, client.program,
                        client.process, milliseconds_since(session.begun()), session.counters().commands(),
                        session.traffic(), std::span<const std::uint64_t>(bytes)});
    for (const auto& link : of_session) {
      links.push_back({is_own ? 1u : 0u, is_own ? link.peer : 0, addresses.emplace_back(link.address),
                       link.connected ? 1u : 0u, link.traffic});
    }
  }
};

}  // namespace

StatusBoard::StatusBoard(const NativeDriver& driver)
    : driver_(driver), host_(host_name()), sampler_(driver, [this] { find_ends(); }) {}

void StatusBoard::add(const Ref<Session>& session) {
  MutexLock lock(mutex_);
  sessions_.emplace(session.get(), session);
}

void StatusBoard::remove(Session& session) {
  const Traffic peers = sum(session.peers().traffic());
  MutexLock lock(mutex_);
  past_.begun += 1;
  past_.commands += session.counters().commands();
  past_.clients += session.traffic();
  past_.peers += peers;
  sessions_.erase(&session);
}

std::vector<Ref<Session>> StatusBoard::sessions() const {
  MutexLock lock(mutex_);
  std::vector<Ref<Session>> sessions;
  for (const auto& [key, session] : sessions_) sessions.push_back(session);
  return sessions;
}

StatusBoard::Totals StatusBoard::totals_locked() const {
  Totals totals = past_;
  totals.sessions = sessions_.size();
  totals.begun += sessions_.size();
  for (const auto& [key, session] : sessions_) {
    totals.commands += session->counters().commands();
    totals.clients += session->traffic();
    totals.peers += sum(session->peers().traffic());
  }
  return totals;
}

StatusBoard::Totals StatusBoard::totals() const {
  MutexLock lock(mutex_);
  return totals_locked();
}

void StatusBoard::find_ends() {
  for (const auto& session : sessions()) session->find_ends();
}

std::vector<std::byte> StatusBoard::answer(Token token, const Session* asker, const Address& from) {
  sampler_.watch();
  std::vector<DeviceStatus> devices;
  for (const auto& device : driver_.devices()) {
    const DeviceLoad::Busy busy = device->load().busy();
    devices.push_back({device->index(), device->name(), device->memory_used(), device->memory_total(),
                       device->load().depth(), busy.permille, busy.observed_ms});
  }
  Listed listed;
  MutexLock lock(mutex_);
  const Totals totals = totals_locked();
  for (const auto& [key, session] : sessions_) {
    const bool is_own = key == asker;
    if (!is_own && !from.is_loopback() && session->address().host != from.host) continue;
    listed.add(*session, is_own, session->peers().traffic());
  }
  ByteBuffer bytes;
  append_message(
      bytes,
      Status{token, REMOTECL_VERSION, host_, static_cast<std::uint64_t>(::getpid()), milliseconds_since(begun_),
             totals.sessions, totals.commands, totals.clients, totals.peers, std::span<const DeviceStatus>(devices),
             std::span<const SessionStatus>(listed.sessions), std::span<const LinkStatus>(listed.links)});
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

}  // namespace remotecl::server
