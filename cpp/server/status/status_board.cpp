#include "server/status/status_board.h"

#include <unistd.h>

#include <algorithm>

#include "runtime/protocol/frames.h"
#include "server/session/session.h"

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

StatusReport::OfSession told(Session& session, bool is_own) {
  Session::Client client = session.client();
  const auto over = session.over_since();
  return {is_own,
          session.id(),
          session.address().text(),
          client.host,
          client.program,
          session.grant().user().name().substr(0, kStatusTextMax),
          client.process,
          milliseconds_since(session.begun()),
          over ? std::max<std::uint64_t>(1, milliseconds_since(*over)) : 0,
          session.counters()->commands(),
          session.traffic(),
          session.counters()->memory()};
}

StatusReport::OfDevice told(Device& device) {
  const DeviceLoad::Busy busy = device.load().busy();
  const auto total = std::chrono::duration_cast<std::chrono::microseconds>(device.load().busy_total());
  return {device.memory_used(), device.load().depth(), busy.permille, busy.observed_ms,
          static_cast<std::uint64_t>(total.count())};
}

}  // namespace

DaemonIdentity DaemonIdentity::own() {
  return {host_name(), static_cast<std::uint64_t>(::getpid()), std::chrono::steady_clock::now()};
}

std::vector<std::byte> encode_status(Token token, const DaemonIdentity& daemon, const NativeDriver& driver,
                                     const StatusReport& report) {
  std::vector<DeviceStatus> devices;
  for (const auto& device : driver.devices()) {
    const StatusReport::OfDevice& told = report.devices[device->index()];
    devices.push_back({device->index(), device->name(), told.memory_used, device->memory_total(), told.queue_depth,
                       told.busy_permille, told.observed_ms});
  }
  const auto sessions = views(report.sessions);
  const auto links = views(report.links);
  ByteBuffer bytes;
  append_message(bytes, Status{token, REMOTECL_VERSION, daemon.host, daemon.process, milliseconds_since(daemon.begun),
                               report.totals.sessions, report.totals.commands, report.totals.clients,
                               report.totals.peers, std::span<const DeviceStatus>(devices),
                               std::span<const SessionStatus>(sessions), std::span<const LinkStatus>(links)});
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

StatusBoard::StatusBoard(const NativeDriver& driver)
    : driver_(driver), daemon_(DaemonIdentity::own()), sampler_(driver, [this] { find_ends(); }) {}

StatusBoard::~StatusBoard() { stop(); }

void StatusBoard::add(const Ref<Session>& session) {
  MutexLock lock(mutex_);
  sessions_.emplace(session.get(), session);
}

void StatusBoard::remove(Session& session) {
  const Traffic peers = sum(session.peers().traffic());
  MutexLock lock(mutex_);
  past_.begun += 1;
  past_.commands += session.counters()->commands();
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

StatusReport::Totals StatusBoard::totals() const {
  StatusReport::Totals totals = past_;
  totals.sessions = sessions_.size();
  totals.begun += sessions_.size();
  for (const auto& [key, session] : sessions_) {
    totals.commands += session->counters()->commands();
    totals.clients += session->traffic();
    totals.peers += sum(session->peers().traffic());
  }
  return totals;
}

void StatusBoard::find_ends() {
  for (const auto& session : sessions()) session->find_ends();
}

StatusReport StatusBoard::report(const Session* asker, const Address& from, std::chrono::seconds patience) {
  sampler_.watch(patience);
  StatusReport report;
  for (const auto& device : driver_.devices()) report.devices.push_back(told(*device));
  MutexLock lock(mutex_);
  report.totals = totals();
  for (const auto& [key, session] : sessions_) {
    const bool is_own = key == asker;
    if (!is_own && !from.is_loopback() && session->address().host != from.host) continue;
    if (report.sessions.size() >= kStatusSessionsMax) break;
    report.sessions.push_back(told(*session, is_own));
    for (const auto& link : session->peers().traffic()) {
      report.links.push_back({is_own, is_own ? link.peer : 0, link.address, link.connected, link.traffic});
    }
  }
  return report;
}

std::vector<std::byte> StatusBoard::answer(Token token, const Session& asker) {
  return encode_status(token, daemon_, driver_, report(&asker, asker.address(), LoadSampler::kPatience));
}

}  // namespace remotecl::server
