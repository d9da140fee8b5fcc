// The status that servers report.
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "icd/json_result.h"
#include "icd/status_json.h"
#include "remotecl/remotecl.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/session/monitor.h"
#include "runtime/client/session/request.h"

struct remotecl_monitor {
  remotecl::Monitor monitor;
};

namespace {

using namespace remotecl;
using nlohmann::json;

using Names = std::function<std::string(PeerId)>;

std::string no_name(PeerId) { return {}; }

// Looks up the names of this process's servers without a request, because it is called on a session's reading thread.
Names names_of(const std::vector<ServerStatus>& servers) {
  std::map<PeerId, std::string> names;
  for (const ServerStatus& server : servers) {
    if (server.session != nullptr) names.emplace(server.session->peer_id(), server.address.text());
  }
  return [names = std::move(names)](PeerId peer) {
    const auto at = names.find(peer);
    return at == names.end() ? std::string() : at->second;
  };
}

json ask_session(const ServerStatus& server, const Names& names) {
  json result{{"address", server.address.text()}, {"state", "unreachable"}, {"error", server.error}};
  if (server.session == nullptr) return result;
  Session& session = *server.session;
  const auto begin = std::chrono::steady_clock::now();
  auto status = ask<StatusWithRdma>(
      session,
      [&session](Token token) {
        session.send(GetStatus{token});
        session.flush();
      },
      [names](const StatusWithRdma& reply) { return status_json(reply, names); });
  result["state"] = status ? "connected" : "lost";
  if (status) {
    const auto passed = std::chrono::steady_clock::now() - begin;
    (*status)["round_trip_us"] = std::chrono::duration<double, std::micro>(passed).count();
    result["status"] = std::move(*status);
  } else {
    result["error"] = session.lost_reason();
  }
  return result;
}

// Calls body(); puts what it throws into *error.
template <class Body>
auto or_error(char** error, Body&& body) noexcept -> decltype(body()) {
  std::string text = "unknown error";
  try {
    return body();
  } catch (const std::exception& failure) {
    text = failure.what();
  } catch (...) {
  }
  if (error != nullptr) *error = json_result([&] { return json(text); });
  return nullptr;
}

}  // namespace

extern "C" {

char* remotecl_status_json(void) {
  return json_result([] {
    const std::vector<ServerStatus> servers = Platform::instance().servers();
    const Names names = names_of(servers);
    json result = json::array();
    for (const ServerStatus& server : servers) result.push_back(ask_session(server, names));
    return result;
  });
}

remotecl_monitor* remotecl_monitor_open(const char* server, char** error) {
  return or_error(error, [server] {
    return new remotecl_monitor{Monitor(parse_server_name(server == nullptr ? "" : server, kDefaultPort))};
  });
}

char* remotecl_monitor_status_json(remotecl_monitor* monitor, char** error) {
  return or_error(error, [monitor] {
    const StatusReply reply = monitor->monitor.ask();
    json result = status_json(reply, no_name);
    result["round_trip_us"] = reply.round_trip_us;
    result["epoch"] = monitor->monitor.welcome().epoch;
    return copy_json(result);
  });
}

char* remotecl_monitor_kick(remotecl_monitor* monitor, uint64_t session, char** error) {
  return or_error(error, [=] {
    static constexpr const char* kNames[] = {"ended", "ending", "unknown", "refused"};
    const Monitor::Kicked kicked = monitor->monitor.kick(session);
    return copy_json(json{{"result", kNames[static_cast<std::size_t>(kicked.result)]}, {"text", kicked.text}});
  });
}

void remotecl_monitor_close(remotecl_monitor* monitor) { delete monitor; }
}
