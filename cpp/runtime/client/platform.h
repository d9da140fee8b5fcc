#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/client/device.h"
#include "runtime/client/session.h"

namespace remotecl {

struct ServerStatus {
  Address address;
  Session* session = nullptr;  // null: could not be reached
  std::string error;           // why not, or why it was lost
  std::string name;            // as it was named, with options
};

// The one platform, with the devices of all servers. Lives until the process ends.
class Platform final : public Handle<_cl_platform_id, HandleTag::kPlatform, CL_INVALID_PLATFORM> {
 public:
  static Platform& instance();

  // Connects to the servers of REMOTECL_SERVERS, once. What cannot be reached is said on stderr (unless REMOTECL_LOG is
  // "off") and left out. Does nothing when REMOTECL_DISABLE is on.
  void connect_configured();
  // Connects to more servers; throws ConnectionError or std::invalid_argument, and then none of them is added.
  // Servers that are connected already are skipped. Fails once in_use().
  void connect(const std::string& servers);
  // Whether any server has been configured or connected: without one, no platform is reported.
  bool configured();
  bool in_use() const { return in_use_.load(); }
  void mark_in_use() { in_use_ = true; }

  std::vector<Device*> devices();
  std::vector<ServerStatus> servers();

 private:
  Platform() = default;
  std::vector<std::future<std::unique_ptr<Session>>> open(const std::vector<ServerName>& names);
  void add(const ServerName& name, std::unique_ptr<Session> session);
  static void leave_all();

  std::mutex mutex_;
  bool read_environment_ = false;
  std::atomic<bool> in_use_{false};
  std::vector<ServerStatus> servers_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Device*> devices_;
  std::uint32_t next_index_ = 0;  // of a session
};

}  // namespace remotecl
