#include "server/isolation/session_claims.h"

#include <algorithm>

#include "runtime/base/printable.h"
#include "runtime/protocol/codec.h"

namespace remotecl::server {
namespace {

// All numbers of a message.
template <class T>
void bound(T& value) {
  if constexpr (WireMessage<T>) {
    value.fields([](auto&... fields) { (bound(fields), ...); });
  } else if constexpr (sizeof(T) == sizeof(std::uint64_t) && std::is_unsigned_v<T>) {
    value = std::min<std::uint64_t>(value, kClaimMax);
  }
}

void bound(std::vector<std::uint64_t>& by_device, std::size_t devices) {
  by_device.resize(devices);
  for (std::uint64_t& number : by_device) bound(number);
}

void cut(std::string& text) {
  if (text.size() > kStatusTextMax) text.resize(kStatusTextMax);
}

void bound(RdmaState& rdma) {
  for (std::string* text : {&rdma.reason, &rdma.port, &rdma.address, &rdma.peer_address}) cut(*text);
  for (std::uint64_t* number : {&rdma.channels, &rdma.losses, &rdma.bytes_sent, &rdma.bytes_received}) bound(*number);
}

void bound(StatusReport::OfSession& session, const SessionFacts& facts) {
  session.is_own = false;
  session.address = facts.client.text();
  session.user = facts.user.substr(0, kStatusTextMax);
  session.weight = facts.weight;
  cut(session.host);
  cut(session.program);
  for (std::uint64_t* number : {&session.process, &session.age_ms, &session.over_ms, &session.commands}) bound(*number);
  bound(session.traffic);
  bound(session.rdma);
  bound(session.memory, facts.devices);
  bound(session.placed, facts.devices);
}

}  // namespace

StatusReport bounded(StatusReport claimed, const SessionFacts& facts) {
  StatusReport report;
  report.totals = claimed.totals;
  bound(report.totals);
  report.totals.sessions = std::min<std::uint64_t>(report.totals.sessions, 1);
  report.totals.begun = 1;
  report.devices = std::move(claimed.devices);
  report.devices.resize(facts.devices);
  for (StatusReport::OfDevice& device : report.devices) bound(device);
  for (StatusReport::OfUser& usage : claimed.users) {
    if (usage.device >= facts.devices) continue;
    for (std::uint64_t* number : {&usage.busy_us, &usage.commands, &usage.placed}) bound(*number);
    bound(usage.sockets);
    usage.user = facts.user;
    report.add(usage);
  }
  for (StatusReport::OfSession& session : claimed.sessions) {
    if (session.session != facts.session || !report.sessions.empty()) continue;
    bound(session, facts);
    report.sessions.push_back(std::move(session));
  }
  for (StatusReport::OfLink& link : claimed.links) {
    if (report.links.size() == kClaimedLinksMax) break;
    link.is_own = false;
    cut(link.address);
    bound(link.traffic);
    bound(link.rdma);
    report.links.push_back(std::move(link));
  }
  return report;
}

std::string bounded_text(std::string_view claimed) { return printable(claimed.substr(0, kClaimedTextMax)); }

}  // namespace remotecl::server
