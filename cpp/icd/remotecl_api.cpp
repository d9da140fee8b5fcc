#include "remotecl/remotecl.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "icd/boundary.h"
#include "icd/json_result.h"
#include "runtime/client/objects/event.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/client/objects/platform.h"

namespace {

using namespace remotecl;
using nlohmann::json;

// Longer times would overflow the clock.
constexpr std::chrono::nanoseconds kWaitMax = std::chrono::hours(24);

json server_json(const ServerStatus& server) {
  json result{
      {"address", server.address.text()}, {"name", server.name}, {"error", server.error}, {"devices", json::array()}};
  if (server.session == nullptr) {
    result["status"] = "unreachable";
    return result;
  }
  result["status"] = server.session->lost() ? "lost" : "connected";
  result["epoch"] = server.session->welcome().epoch;
  for (Device* device : Platform::instance().devices()) {
    if (&device->session() == server.session) result["devices"].push_back(device->text(CL_DEVICE_NAME));
  }
  const double round_trip_us = server.session->lost() ? -1 : server.session->round_trip_us();
  result["round_trip_us"] = round_trip_us < 0 ? json() : json(round_trip_us);
  return result;
}

json places_json(Context& context) {
  json result = json::array({{{"name", "host"}, {"device", 0}}});
  for (Device* device : context.devices()) {
    result.push_back({{"name", device->session().address().text() + "/" + device->text(CL_DEVICE_NAME)},
                      {"device", reinterpret_cast<std::uintptr_t>(device->handle())}});
  }
  return result;
}

bool is_arriving(BufferStorage& storage, Location location, ByteRange range) REQUIRES(kMemoryMutex) {
  bool is_arriving = false;
  storage.site(location).arrivals.for_each(
      range, [&is_arriving](const InboundTransfer& arrival) { is_arriving = is_arriving || !arrival.event->ended(); });
  return is_arriving;
}

const char* state_at(MemoryObject& memory, const ResidencyDirectory::Entry& entry, Location location)
    REQUIRES(kMemoryMutex) {
  if (entry.holders.empty()) return "undefined";
  if (!entry.holders.contains(location)) return "stale";
  if (location != kHost && memory.context().device_at(location).session().lost()) return "lost";
  return is_arriving(memory.storage(), location, entry.range) ? "arriving" : "newest";
}

json residency_json(MemoryObject& memory) {
  const MutexLock lock(memory.context().memory_mutex());
  const ByteRange whole = memory.range(0, memory.size());
  memory.storage().settle_doubts(whole);
  memory.storage().settle_arrivals(whole);
  const json places = places_json(memory.context());
  json ranges = json::array();
  const std::uint64_t begin = memory.range(0, 0).offset;
  const std::uint64_t end = begin + memory.size();
  for (const auto& entry : memory.storage().residency.entries()) {
    const std::uint64_t from = std::max(begin, entry.range.offset);
    const std::uint64_t to = std::min(end, entry.range.offset + entry.range.size);
    if (from >= to) continue;
    json states = json::array();
    json holders = json::array();
    for (Location location = 0; location < places.size(); ++location) {
      states.push_back(state_at(memory, entry, location));
      if (entry.holders.contains(location)) holders.push_back(places[location]["name"]);
    }
    ranges.push_back({{"offset", from - begin},
                      {"size", to - from},
                      {"version", entry.version},
                      {"holders", holders},
                      {"states", states}});
  }
  return {{"buffer", reinterpret_cast<std::uintptr_t>(memory.handle())},
          {"size", memory.size()},
          {"places", places},
          {"ranges", ranges}};
}

// Returns 0, or -1 with the reason why `action` has thrown in `error`, as JSON.
template <class Action>
int succeed(Action&& action, char** error) {
  std::string text;
  if (in_forked_child()) {
    if (error != nullptr) *error = copy_json(json(forked_text()));
    return -1;
  }
  try {
    action();
    return 0;
  } catch (const std::exception& failure) {
    text = failure.what();
  } catch (...) {
    text = "unknown error";
  }
  if (error != nullptr) *error = json_result([&] { return json(text); });
  return -1;
}

}  // namespace

extern "C" {

const char* remotecl_version(void) { return REMOTECL_VERSION; }

unsigned remotecl_protocol_version(void) { return kProtocolVersion; }

int remotecl_connect(const char* servers, char** error) {
  return succeed([servers] { Platform::instance().connect(servers == nullptr ? "" : servers); }, error);
}

int remotecl_disconnect(const char* server, char** error) {
  return succeed(
      [server] {
        const std::vector<ServerName> names = parse_server_names(server == nullptr ? "" : server, kDefaultPort);
        if (names.size() != 1) throw std::invalid_argument("name one server: \"host[:port]\"");
        if (!Platform::instance().disconnect(names[0].address)) {
          throw std::invalid_argument(names[0].address.text() + " is not connected");
        }
      },
      error);
}

cl_platform_id remotecl_platform(void) {
  Platform& platform = Platform::instance();
  platform.connect_configured();
  return platform.configured() ? platform.handle() : nullptr;
}

unsigned remotecl_limit_waits(uint64_t nanoseconds) {
  if (nanoseconds == 0) return WaitLimit::set({});
  return WaitLimit::set(std::chrono::nanoseconds(std::min<std::uint64_t>(nanoseconds, kWaitMax.count())));
}

int remotecl_has_ended(cl_event event) {
  const Event* const of = from_handle<Event>(event);
  return of == nullptr || of->ended() ? 1 : 0;
}

void remotecl_expect_shutdown(const char* address) {
  icd::enter([address] {
    for (const ServerStatus& server : Platform::instance().servers()) {
      if (server.session != nullptr && server.address.text() == address) server.session->expect_shutdown();
    }
  });
}

char* remotecl_servers_json(void) {
  return json_result([] {
    json result = json::array();
    for (const ServerStatus& server : Platform::instance().servers()) result.push_back(server_json(server));
    return result;
  });
}

char* remotecl_residency_json(cl_mem memory) {
  return json_result([&] {
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
