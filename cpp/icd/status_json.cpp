#include "icd/status_json.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace remotecl {
namespace {

using nlohmann::json;

json direction_json(std::uint64_t bytes, std::uint64_t messages) { return {{"bytes", bytes}, {"messages", messages}}; }

json compressed_json(std::uint64_t before, std::uint64_t after) { return {{"before", before}, {"after", after}}; }

double seconds(std::uint64_t milliseconds) { return static_cast<double>(milliseconds) * 1e-3; }

std::string session_number(std::uint64_t session) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(session));
  return text;
}

json device_json(const DeviceStatus& device) {
  const bool is_observed = device.observed_ms != 0;
  return {{"index", device.index},
          {"name", device.name},
          {"memory_used", device.memory_used},
          {"memory_total", device.memory_total},
          {"queue_depth", device.queue_depth},
          {"utilisation", is_observed ? json(device.busy_permille * 1e-3) : json()},
          {"observed_s", seconds(device.observed_ms)},
          {"placed", device.placed}};
}

json rdma_totals_json(const RdmaTraffic& traffic, const RdmaCost& cost) {
  return {{"channels", traffic.channels},      {"losses", traffic.losses},
          {"bytes_sent", traffic.bytes_sent},  {"bytes_received", traffic.bytes_received},
          {"bytes_copied", cost.bytes_copied}, {"system_calls", cost.system_calls}};
}

// Null for what a server does not say.
json rdma_at(const std::vector<RdmaState>& rdma, std::size_t index, const Traffic& traffic) {
  return index < rdma.size() ? rdma_json(rdma[index], traffic) : json();
}

std::vector<RdmaState> states_of(const Sequence<RdmaStatus>& sequence) {
  std::vector<RdmaState> states;
  sequence.for_each([&states](const RdmaStatus& each) { states.push_back(state_of(each)); });
  return states;
}

json session_json(const SessionStatus& session, const json& rdma, const json& weight) {
  const auto by_device = [](const Array<std::uint64_t>& values) {
    json result = json::array();
    for (std::size_t i = 0; i < values.size(); ++i) result.push_back(values[i]);
    return result;
  };
  return {{"is_own", session.is_own != 0},
          {"session", session_number(session.session)},
          {"address", session.address},
          {"host", session.host},
          {"program", session.program},
          {"user", session.user},
          {"process", session.process},
          {"age_s", seconds(session.age_ms)},
          {"over_s", session.over_ms == 0 ? json() : json(seconds(session.over_ms))},
          {"commands", session.commands},
          {"memory", by_device(session.memory)},
          {"placed", by_device(session.placed)},
          {"traffic", traffic_json(session.traffic)},
          {"rdma", rdma},
          {"weight", weight}};
}

// Null if the server does not say so.
json weight_at(const StatusWeights& weights, std::size_t index) {
  return index < weights.of_sessions.size() ? json(static_cast<double>(weights.of_sessions[index]) / 1000) : json();
}

}  // namespace

json traffic_json(const Traffic& traffic) {
  return {{"control",
           {{"sent", direction_json(traffic.bytes_sent, traffic.messages_sent)},
            {"received", direction_json(traffic.bytes_received, traffic.messages_received)}}},
          {"bulk",
           {{"sent", direction_json(traffic.bulk_bytes_sent, traffic.bulk_sent)},
            {"received", direction_json(traffic.bulk_bytes_received, traffic.bulk_received)}}},
          {"compressed",
           {{"sent", compressed_json(traffic.compression.sent_before, traffic.compression.sent_after)},
            {"received", compressed_json(traffic.compression.received_before, traffic.compression.received_after)}}}};
}

json rdma_json(const RdmaState& rdma, const Traffic& traffic) {
  const auto left = [](std::uint64_t all, std::uint64_t part) { return all - std::min(all, part); };
  return {{"state", name_of(rdma.kind)},
          {"reason", rdma.reason},
          {"port", rdma.port},
          {"address", rdma.address},
          {"peer_address", rdma.peer_address},
          {"channels", rdma.channels},
          {"losses", rdma.losses},
          {"bytes_sent", rdma.bytes_sent},
          {"bytes_received", rdma.bytes_received},
          {"tcp_bytes_sent", left(traffic.bulk_bytes_sent, rdma.bytes_sent)},
          {"tcp_bytes_received", left(traffic.bulk_bytes_received, rdma.bytes_received)}};
}

json own_rdma_json(const RdmaState& rdma, const Traffic& traffic) {
  json result = rdma_json(rdma, traffic);
  result["bytes_copied"] = rdma.bytes_copied;
  result["system_calls"] = rdma.system_calls;
  return result;
}

json status_json(const StatusWithRdma& answer, const std::function<std::string(PeerId)>& name_of_peer) {
  const Status& status = answer.status;
  const StatusRdma& rdma = answer.rdma;
  json devices = json::array(), sessions = json::array(), links = json::array();
  status.devices.for_each([&](const DeviceStatus& device) { devices.push_back(device_json(device)); });
  const std::vector<RdmaState> of_sessions = states_of(rdma.sessions), of_links = states_of(rdma.links);
  status.sessions.for_each([&](const SessionStatus& session) {
    const std::size_t index = sessions.size();
    sessions.push_back(
        session_json(session, rdma_at(of_sessions, index, session.traffic), weight_at(answer.weights, index)));
  });
  status.links.for_each([&](const LinkStatus& link) {
    const std::string name = link.is_own != 0 ? name_of_peer(link.peer) : std::string();
    links.push_back({{"is_own", link.is_own != 0},
                     {"server", name.empty() ? std::string(link.address) : name},
                     {"is_connected", link.is_connected != 0},
                     {"traffic", traffic_json(link.traffic)},
                     {"rdma", rdma_at(of_links, links.size(), link.traffic)}});
  });
  json stores = json::object();
  answer.stores.stores.for_each([&stores](const StoreStatus& store) {
    stores[stores.empty() ? "programs" : "uploads"] = {{"entries", store.entries},     {"bytes", store.bytes},
                                                       {"hits", store.hits},           {"misses", store.misses},
                                                       {"hit_bytes", store.hit_bytes}, {"failures", store.failures}};
  });
  json of_users = json::array();
  std::vector<SocketStatus> sockets;
  answer.sockets.of_users.for_each([&sockets](const SocketStatus& each) { sockets.push_back(each); });
  answer.users.users.for_each([&](const UserStatus& user) {
    const SocketStatus its = of_users.size() < sockets.size() ? sockets[of_users.size()] : SocketStatus{};
    of_users.push_back({{"user", user.user},
                        {"device", user.device},
                        {"busy_s", static_cast<double>(user.busy_us) * 1e-6},
                        {"commands", user.commands},
                        {"placed", user.placed},
                        {"sockets", its.open},
                        {"sockets_opened", its.opened},
                        {"socket_bytes_sent", its.bytes_sent},
                        {"socket_bytes_received", its.bytes_received}});
  });
  return {{"version", status.version},
          {"host", status.host},
          {"process", status.process},
          {"uptime_s", seconds(status.uptime_ms)},
          {"session_count", status.session_count},
          {"commands", status.commands},
          {"clients", traffic_json(status.clients)},
          {"peers", traffic_json(status.peers)},
          {"rdma",
           {{"clients", rdma_totals_json(rdma.clients, answer.rdma_costs.clients)},
            {"peers", rdma_totals_json(rdma.peers, answer.rdma_costs.peers)}}},
          {"devices", devices},
          {"sessions", sessions},
          {"links", links},
          {"users", of_users},
          {"stores", stores}};
}

}  // namespace remotecl
