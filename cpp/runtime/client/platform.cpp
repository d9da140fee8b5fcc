#include "runtime/client/platform.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "runtime/client/fork.h"
#include "runtime/client/notice.h"
#include "runtime/client/operations.h"

namespace remotecl {
namespace {

constexpr std::size_t kServersMax = 64;  // a bit each in what an object remembers

std::string texts(const std::vector<ServerName>& names) {
  std::string texts;
  for (const ServerName& name : names) texts += (texts.empty() ? "" : ", ") + name.address.text();
  return texts;
}

}  // namespace

Platform& Platform::instance() {
  static Platform& platform = *new Platform;  // never destroyed: other static objects may release handles at exit
  return platform;
}

void Platform::connect_configured() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(read_environment_, true)) return;
  if (std::getenv("REMOTECL_DISABLE") != nullptr) return;
  const char* configured = std::getenv("REMOTECL_SERVERS");
  if (configured == nullptr) return;
  std::vector<ServerName> names;
  try {
    names = parse_server_names(configured, kDefaultPort);
  } catch (const std::invalid_argument& error) {
    notice(std::string("REMOTECL_SERVERS: ") + error.what());
  }
  Operations::Running running(Operation::Kind::kConnect, texts(names), names.size());
  for (const ServerName& name : names) {
    try {
      add(name);
    } catch (const ConnectionError& error) {
      servers_.push_back({name.address, nullptr, error.what(), name.text()});
      notice(error.what());
    }
    running.advance();
  }
}

void Platform::connect(const std::string& servers) {
  connect_configured();
  const std::vector<ServerName> names = parse_server_names(servers, kDefaultPort);
  if (names.empty()) throw std::invalid_argument("no server is named; write \"host[:port][,host2[:port]]\"");
  const std::lock_guard lock(mutex_);
  Operations::Running running(Operation::Kind::kConnect, texts(names), names.size());
  for (const ServerName& name : names) {
    const Address& address = name.address;
    const auto same = [&address](const ServerStatus& server) { return server.address == address && server.session; };
    if (std::find_if(servers_.begin(), servers_.end(), same) != servers_.end()) continue;
    if (in_use()) {
      throw ConnectionError("cannot add " + address.text() +
                            ": the program has used the remotecl platform already, and its devices cannot change any "
                            "more; connect before the first clGetDeviceIDs (in PyOpenCL: get_devices())");
    }
    add(name);
    running.advance();
  }
}

// At the end of the process, where its other threads may be anywhere.
void Platform::leave_all() {
  if (in_forked_child()) return;
  Platform& platform = instance();
  const std::unique_lock lock(platform.mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (const auto& session : platform.sessions_) session->leave();
}

void Platform::add(const ServerName& name) {
  [[maybe_unused]] static const int registered = std::atexit(leave_all);
  const Address& address = name.address;
  if (sessions_.size() >= kServersMax) {
    throw ConnectionError("cannot add " + address.text() + ": at most 64 servers can be connected");
  }
  auto session = std::make_unique<Session>(name, static_cast<std::uint32_t>(sessions_.size()));
  Decoder decoder(session->device_list());
  DeviceList list{};
  if (!decoder.read(list)) throw ConnectionError(address.text() + " sent a malformed list of devices");
  // A server need not show all of its devices: indices may be missing.
  std::uint32_t indices = 0;
  list.devices.for_each([&](const DeviceDescription& description) {
    devices_.push_back(new Device(*this, *session, description));
    indices = std::max(indices, std::min(description.index, kDeviceIndexMax - 1) + 1);
  });
  session->device_indices().reserve(indices);
  std::erase_if(servers_, [&address](const ServerStatus& server) { return server.address == address; });
  servers_.push_back({address, session.get(), {}, name.text()});
  sessions_.push_back(std::move(session));
}

bool Platform::configured() {
  const std::lock_guard lock(mutex_);
  return !servers_.empty();
}

std::vector<Device*> Platform::devices() {
  const std::lock_guard lock(mutex_);
  return devices_;
}

std::vector<ServerStatus> Platform::servers() {
  const std::lock_guard lock(mutex_);
  std::vector<ServerStatus> servers = servers_;
  for (ServerStatus& server : servers) {
    if (server.session != nullptr && server.session->lost()) server.error = server.session->lost_reason();
  }
  return servers;
}

}  // namespace remotecl
