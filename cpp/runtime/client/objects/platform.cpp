#include "runtime/client/objects/platform.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

#include "runtime/base/settings.h"
#include "runtime/client/objects/queue_placement.h"
#include "runtime/client/session/open_session.h"
#include "runtime/client/session/operations.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/client/support/stderr_notice.h"
#include "runtime/client/support/wanted_servers.h"
#include "runtime/transport/threads/wait_policy.h"

namespace remotecl {
namespace {

constexpr std::size_t kServersMax = kPeersMax;  // each is the others' peer
constexpr char kLeftOut[] =
    "it was left out, because another server of REMOTECL_SERVERS cannot be used (REMOTECL_REQUIRED=0 would keep it)";

using Opening = std::vector<std::future<std::unique_ptr<Session>>>;

// What has come of connecting: for each server a session, or why there is none.
struct Opened {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::exception_ptr> failures;

  // The servers need not wait for the sessions' return.
  void close() {
    for (auto& session : sessions) {
      if (session) session->close();
      session.reset();
    }
  }
};

Opened wait_for_all(Opening opening) {
  Opened opened;
  for (auto& session : opening) {
    std::exception_ptr failure;
    std::unique_ptr<Session> made;
    try {
      made = session.get();
    } catch (const std::exception&) {  // including a lack of descriptors or threads
      failure = std::current_exception();
    }
    opened.sessions.push_back(std::move(made));
    opened.failures.push_back(failure);
  }
  return opened;
}

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

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
  if (has_read_environment_.load(std::memory_order_acquire)) return;
  const MutexLock connecting(connecting_);
  if (has_read_environment_.load()) return;
  connect_named_in_environment();
  has_read_environment_.store(true, std::memory_order_release);
}

void Platform::connect_named_in_environment() {
  if (settings::on_or_off("REMOTECL_DISABLE").value_or(false)) return;
  const char* configured = std::getenv("REMOTECL_SERVERS");
  if (configured == nullptr) return;
  std::vector<ServerName> names;
  std::vector<std::string> errors;
  try {
    names = parse_server_names(configured, kDefaultPort);
  } catch (const std::invalid_argument& error) {
    errors.push_back(std::string("REMOTECL_SERVERS: ") + error.what());
  }
  if (names.size() > kServersMax) {
    errors.push_back("REMOTECL_SERVERS names " + std::to_string(names.size()) + " servers; those after the first " +
                     std::to_string(kServersMax) + " are left out");
    names.resize(kServersMax);
  }
  Opened opened = wait_for_all(open(names));
  for (const std::exception_ptr& failure : opened.failures) {
    if (failure) errors.push_back(text_of(failure));
  }
  const bool can_use_any = std::ranges::any_of(opened.sessions, [](const auto& session) { return session != nullptr; });
  const bool is_automatic_listed = settings::on_or_off("REMOTECL_AUTO").value_or(false);
  if (is_automatic_listed && AutomaticDevices::instance() == nullptr) {
    notice("REMOTECL_AUTO: this library has no automatic device; build it with REMOTECL_SCHEDULING=ON");
  }
  const bool are_used = wanted_servers::judge(errors, can_use_any);
  if (!are_used) opened.close();
  const MutexLock lock(mutex_);
  is_automatic_listed_ = is_automatic_listed_ || is_automatic_listed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (opened.sessions[i]) {
      add(names[i], std::move(opened.sessions[i]));
    } else {
      const std::string why = opened.failures[i] ? text_of(opened.failures[i]) : kLeftOut;
      servers_.push_back({names[i].address, nullptr, why, names[i].text()});
    }
  }
  are_wanted_ = are_used && can_use_any;
}

void Platform::connect(const std::string& servers) {
  connect_configured();
  const std::vector<ServerName> names = parse_server_names(servers, kDefaultPort);
  if (names.empty()) throw std::invalid_argument("no server is named; write \"host[:port][,host2[:port]]\"");
  const MutexLock connecting(connecting_);
  const std::vector<ServerName> missing = missing_of(names);
  if (missing.empty()) return;
  if (free_indices().size() < missing.size()) {
    throw ConnectionError("cannot add " + texts(missing) + ": at most " + std::to_string(kServersMax) +
                          " servers can be connected");
  }
  Opened opened = wait_for_all(open(missing));
  for (const std::exception_ptr& failure : opened.failures) {
    if (!failure) continue;
    opened.close();
    std::rethrow_exception(failure);
  }
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < missing.size(); ++i) add(missing[i], std::move(opened.sessions[i]));
}

// The servers that are not connected, each once.
std::vector<ServerName> Platform::missing_of(const std::vector<ServerName>& names) {
  const MutexLock lock(mutex_);
  std::vector<ServerName> missing;
  for (const ServerName& name : names) {
    const auto same = [&name](const auto& other) { return other.address == name.address; };
    const auto is_connected = [&same](const ServerStatus& server) {
      return same(server) && server.session != nullptr && !server.session->lost();
    };
    if (std::any_of(servers_.begin(), servers_.end(), is_connected)) continue;
    if (std::none_of(missing.begin(), missing.end(), same)) missing.push_back(name);
  }
  return missing;
}

// Connects to all servers at the same time, because the time goes into round trips and the servers' work.
std::vector<std::future<std::unique_ptr<Session>>> Platform::open(const std::vector<ServerName>& names) {
  WaitPolicy::poll_time();  // an invalid value is reported now
  const auto running =
      std::make_shared<Operations::Running>(group_.operations, Operation::Kind::kConnect, texts(names), names.size());
  const std::vector<std::uint32_t> indices = free_indices();
  std::vector<std::future<std::unique_ptr<Session>>> sessions;
  for (const ServerName& name : names) {
    const auto open_one = [this, running, name, index = indices[sessions.size()]] {
      auto session = open_session(group_, name, index);
      Decoder decoder(session->device_list());
      DeviceList list{};
      if (!decoder.read(list)) throw ConnectionError(name.address.text() + " sent a malformed list of devices");
      running->advance();
      return session;
    };
    // This thread connects to the last one.
    const bool is_last = sessions.size() + 1 == names.size();
    sessions.push_back(std::async(is_last ? std::launch::deferred : std::launch::async, open_one));
  }
  if (!sessions.empty()) sessions.back().wait();
  return sessions;
}

// Indices of lost sessions may be reused: a context that remembers such an index has no device of the new
// session, so it never means the wrong one. But the other servers must know of the loss before, or they would take
// it for the loss of the new session.
std::vector<std::uint32_t> Platform::free_indices() {
  const MutexLock lock(mutex_);
  std::vector<bool> used(kServersMax);
  for (const auto& session : sessions_) {
    if (!session->loss_is_settled()) used[session->index()] = true;
  }
  std::vector<std::uint32_t> indices;
  for (std::uint32_t index = 0; index < kServersMax; ++index) {
    if (!used[index]) indices.push_back(index);
  }
  return indices;
}

// Called at the end of the process, when its other threads may be doing anything.
void Platform::leave_all() {
  if (in_forked_child()) return;
  Platform& platform = instance();
  if (!platform.mutex_.try_lock()) return;
  const MutexLock lock(platform.mutex_, AdoptLock());
  if (platform.are_wanted_ && platform.is_listed_ && !platform.is_used_) wanted_servers::report_unused();
  try {
    for (const auto& session : platform.sessions_) session->leave();
  } catch (const std::exception&) {  // out of memory; the servers notice by themselves
  }
}

void Platform::add(const ServerName& name, std::unique_ptr<Session> session) {
  [[maybe_unused]] static const int registered = std::atexit(leave_all);
  for (const auto& other : sessions_) other->reap();
  remove(name.address);
  Decoder decoder(session->device_list());
  DeviceList list{};
  decoder.read(list);
  // Indices may be missing, because a server need not show all of its devices.
  std::uint32_t indices = 0;
  std::vector<Device*>* const devices = &devices_;  // guarded by the lock that add() requires
  list.devices.for_each([&](const DeviceDescription& description) {
    devices->push_back(new Device(*this, *session, description));
    indices = std::max(indices, std::min(description.index, kDeviceIndexMax - 1) + 1);
  });
  session->device_indices().reserve(indices);
  forget_automatic_device();
  servers_.push_back({name.address, session.get(), {}, name.text()});
  sessions_.push_back(std::move(session));
}

void Platform::remove(const Address& address) {
  const auto former = std::stable_partition(devices_.begin(), devices_.end(), [&address](const Device* device) {
    return device->session().address() != address;
  });
  former_devices_.insert(former_devices_.end(), former, devices_.end());
  devices_.erase(former, devices_.end());
  forget_automatic_device();
  std::erase_if(servers_, [&address](const ServerStatus& server) { return server.address == address; });
}

bool Platform::disconnect(const Address& address) {
  Session* session = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto at = std::find_if(servers_.begin(), servers_.end(),
                                 [&address](const ServerStatus& server) { return server.address == address; });
    if (at == servers_.end()) return false;
    session = at->session;
    remove(address);
  }
  if (session != nullptr) session->close();
  return true;
}

bool Platform::configured() {
  const MutexLock lock(mutex_);
  return !servers_.empty();
}

std::vector<Device*> Platform::devices() {
  const MutexLock lock(mutex_);
  return devices_;
}

std::vector<Device*> Platform::listed_devices() {
  const MutexLock lock(mutex_);
  std::vector<Device*> result = devices_;
  if (!is_automatic_listed_) return result;
  if (Device* const automatic = automatic_device()) result.insert(result.begin(), automatic);
  return result;
}

Device* Platform::list_automatic_device() {
  connect_configured();
  const MutexLock lock(mutex_);
  is_automatic_listed_ = true;
  return automatic_device();
}

Device* Platform::automatic_device() {
  AutomaticDevices* const maker = AutomaticDevices::instance();
  if (automatic_ == nullptr && maker != nullptr) automatic_ = maker->make_device(*this, devices_);
  return automatic_;
}

// Other devices come or go. Contexts may still use the former one.
void Platform::forget_automatic_device() {
  if (automatic_ != nullptr) former_devices_.push_back(std::exchange(automatic_, nullptr));
}

std::vector<ServerStatus> Platform::servers() {
  const MutexLock lock(mutex_);
  std::vector<ServerStatus> servers = servers_;
  for (ServerStatus& server : servers) {
    if (server.session != nullptr && server.session->lost()) server.error = server.session->lost_reason();
  }
  return servers;
}

}  // namespace remotecl
