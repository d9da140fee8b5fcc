#include "remotecl/remotecl.h"

#include <cstdlib>

#include "icd/json_answer.h"
#include "runtime/client/memory_object.h"
#include "runtime/client/peer_links.h"
#include "runtime/client/platform.h"

namespace {

using namespace remotecl;
using icd::answer;
using icd::copy;
using nlohmann::json;

json server_json(const ServerStatus& server) {
  json result{{"address", server.address.text()}, {"error", server.error}, {"devices", json::array()}};
  if (server.session == nullptr) {
    result["status"] = "unreachable";
    return result;
  }
  result["status"] = server.session->lost() ? "lost" : "connected";
  for (Device* device : Platform::instance().devices()) {
    if (&device->session() == server.session) result["devices"].push_back(device->text(CL_DEVICE_NAME));
  }
  const double round_trip_us = server.session->lost() ? -1 : server.session->round_trip_us();
  result["round_trip_us"] = round_trip_us < 0 ? json() : json(round_trip_us);
  return result;
}

json holders_json(Context& context, std::uint64_t holders) {
  json result = json::array();
  if ((holders & 1) != 0) result.push_back("host");
  for (std::uint32_t location = 1; location <= context.devices().size(); ++location) {
    if ((holders >> location & 1) == 0) continue;
    Device& device = context.device_at(location);
    result.push_back(device.session().address().text() + "/" + device.text(CL_DEVICE_NAME));
  }
  return result;
}

json residency_json(MemoryObject& memory) {
  const std::lock_guard lock(memory.context().memory_mutex());
  json ranges = json::array();
  const std::uint64_t begin = memory.range(0, 0).offset;
  const std::uint64_t end = begin + memory.size();
  for (const auto& entry : memory.storage().residency.entries()) {
    const std::uint64_t from = std::max(begin, entry.range.offset);
    const std::uint64_t to = std::min(end, entry.range.offset + entry.range.size);
    if (from >= to) continue;
    ranges.push_back({{"offset", from - begin},
                      {"size", to - from},
                      {"holders", holders_json(memory.context(), entry.holders)},
                      {"version", entry.version}});
  }
  return {{"buffer", reinterpret_cast<std::uintptr_t>(memory.handle())}, {"size", memory.size()}, {"ranges", ranges}};
}

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

json links_json() {
  json result = json::array();
  for (const PeerLinks::Link& link : PeerLinks::instance().links()) {
    result.push_back({{"servers", {link.first->address().text(), link.second->address().text()}},
                      {"state", name_of(link.state)},
                      {"reason", link.reason}});
  }
  return result;
}

}  // namespace

extern "C" {

const char* remotecl_version(void) { return REMOTECL_VERSION; }

int remotecl_connect(const char* servers, char** error) {
  std::string text;
  if (in_forked_child()) {
    if (error != nullptr) *error = copy(json(forked_text()));
    return -1;
  }
  try {
    Platform::instance().connect(servers == nullptr ? "" : servers);
    return 0;
  } catch (const std::exception& failure) {
    text = failure.what();
  } catch (...) {
    text = "unknown error";
  }
  if (error != nullptr) *error = answer([&] { return json(text); });
  return -1;
}

int remotecl_in_use(void) { return Platform::instance().in_use() ? 1 : 0; }

cl_platform_id remotecl_platform(void) {
  Platform& platform = Platform::instance();
  platform.connect_configured();
  return platform.configured() ? platform.handle() : nullptr;
}

void remotecl_expect_shutdown(const char* address) {
  icd::enter([address] {
    for (const ServerStatus& server : Platform::instance().servers()) {
      if (server.session != nullptr && server.address.text() == address) server.session->expect_shutdown();
    }
  });
}

char* remotecl_servers_json(void) {
  return answer([] {
    json result = json::array();
    for (const ServerStatus& server : Platform::instance().servers()) result.push_back(server_json(server));
    return result;
  });
}

char* remotecl_stats_json(void) {
  return answer([] {
    json servers = json::array();
    for (const ServerStatus& server : Platform::instance().servers()) {
      if (server.session == nullptr) continue;
      const SessionStats stats = server.session->stats();
      servers.push_back({{"address", server.address.text()},
                         {"bytes_sent", stats.bytes_sent},
                         {"bytes_received", stats.bytes_received},
                         {"messages_sent", stats.messages_sent},
                         {"messages_received", stats.messages_received}});
    }
    return json{{"servers", servers}, {"links", links_json()}};
  });
}

char* remotecl_residency_json(cl_mem memory) {
  return answer([&] {
    json result = json::array();
    if (memory != nullptr) {
      if (MemoryObject* one = from_handle<MemoryObject>(memory)) result.push_back(residency_json(*one));
      return result;
    }
    for (const auto& object : live_memory_objects()) result.push_back(residency_json(*object));
    return result;
  });
}

void remotecl_free(char* text) { std::free(text); }
}
