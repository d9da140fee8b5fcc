// The statistics of this process.
#include <algorithm>
#include <vector>

#include "icd/json_result.h"
#include "icd/status_json.h"
#include "remotecl/remotecl.h"
#include "runtime/client/objects/image_formats.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/objects/queue_placement.h"
#include "runtime/client/session/operations.h"
#include "runtime/client/session/peer_links.h"
#include "runtime/client/support/fetch_counts.h"

namespace {

using namespace remotecl;
using nlohmann::json;

const char* name_of(PeerLinks::State state) {
  switch (state) {
    case PeerLinks::State::kConnected:
      return "connected";
    case PeerLinks::State::kConnecting:
      return "connecting";
    case PeerLinks::State::kFailed:
      return "failed";
    default:
      return "none";
  }
}

// Links of the present servers: a restarted server counts as another one with the same name.
json links_json() {
  json result = json::array();
  const std::vector<ServerStatus> servers = Platform::instance().servers();
  const auto is_known = [&servers](const Session* session) {
    return std::any_of(servers.begin(), servers.end(), [&](const auto& server) { return server.session == session; });
  };
  for (const PeerLinks::Link& link : Platform::instance().group().links.links()) {
    if (!is_known(link.first) || !is_known(link.second)) continue;
    result.push_back({{"servers", {link.first->address().text(), link.second->address().text()}},
                      {"state", name_of(link.state)},
                      {"reason", link.reason}});
  }
  return result;
}

json count_json(const FetchCounts::Count& count) {
  return {{"count", count.count.load()}, {"bytes", count.bytes.load()}};
}

json transfers_json() {
  const FetchCounts& counts = Platform::instance().group().fetched;
  return {{"saved", count_json(counts.in_place)},
          {"from_host", count_json(counts.from_host)},
          {"found", count_json(counts.found)},
          {"between_servers", count_json(counts.between_servers)},
          {"within_server", count_json(counts.within_server)},
          {"through_client", count_json(counts.through_client)}};
}

json caches_json() {
  const CacheCounts& formats = image_format_cache();
  return {{"image_formats", {{"hits", formats.hits.load()}, {"misses", formats.misses.load()}}}};
}

json servers_json() {
  json servers = json::array();
  for (const ServerStatus& server : Platform::instance().servers()) {
    if (server.session == nullptr) continue;
    const auto [traffic, rdma] = server.session->counts();
    servers.push_back({{"address", server.address.text()},
                       {"bytes_sent", traffic.bytes_sent + traffic.bulk_bytes_sent},
                       {"bytes_received", traffic.bytes_received + traffic.bulk_bytes_received},
                       {"messages_sent", traffic.messages_sent},
                       {"messages_received", traffic.messages_received},
                       {"traffic", traffic_json(traffic)},
                       {"rdma", own_rdma_json(rdma, traffic)}});
  }
  return servers;
}

json placements_json() {
  json result = json::array();
  AutomaticDevices* const devices = AutomaticDevices::instance();
  if (devices == nullptr) return result;
  for (const AutomaticDevices::Count& count : devices->counts()) {
    result.push_back({{"server", count.device->session().address().text()},
                      {"device", count.device->text(CL_DEVICE_NAME)},
                      {"kernels", count.kernels}});
  }
  return result;
}

const char* name_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::kUpload:
      return "upload";
    case Operation::Kind::kDownload:
      return "download";
    case Operation::Kind::kBetweenServers:
      return "between_servers";
    case Operation::Kind::kBuild:
      return "build";
    default:
      return "connect";
  }
}

}  // namespace

extern "C" {

char* remotecl_stats_json(void) {
  return json_result([] {
    return json{{"servers", servers_json()},
                {"links", links_json()},
                {"transfers", transfers_json()},
                {"caches", caches_json()},
                {"placements", placements_json()}};
  });
}

char* remotecl_operations_json(void) {
  return json_result([] {
    json operations = json::array();
    for (const Operation& operation : Platform::instance().group().operations.list()) {
      operations.push_back({{"id", operation.id},
                            {"kind", name_of(operation.kind)},
                            {"where", operation.where},
                            {"done", operation.done},
                            {"total", operation.total}});
    }
    return operations;
  });
}
}
