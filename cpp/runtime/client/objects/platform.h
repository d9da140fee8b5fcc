#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/device.h"
#include "runtime/client/session/session.h"

namespace remotecl {

struct ServerStatus {
  Address address;
  Session* session = nullptr;  // null: could not be reached
  std::string error;           // why not, or why it was lost
  std::string name;            // as it was named, with options
};

// The one platform, with the devices of all servers, which come and go. Sessions and devices that are gone stay in
// memory, so that their handles can answer. Lives until the process ends.
class Platform final : public Handle<_cl_platform_id, HandleTag::kPlatform, CL_INVALID_PLATFORM> {
 public:
  static Platform& instance();

  // Connects to the servers of REMOTECL_SERVERS, once. What cannot be reached is said on stderr (unless REMOTECL_LOG is
  // "off") and left out, or ends the process (wanted_servers). Does nothing when REMOTECL_DISABLE is on.
  void connect_configured();
  // Connects to more servers; throws ConnectionError or std::invalid_argument, and then none of them is added.
  // Servers that are connected already are skipped; the devices of one that was lost are replaced by new ones.
  void connect(const std::string& servers);
  // Ends the session with a server; its devices are not listed any more. False when there is none.
  bool disconnect(const Address& address);
  // Whether any server has been configured or connected: without one, no platform is reported.
  bool configured();
  // A loader has got the platform; the program has made a context, or knows of the devices by name.
  void mark_listed() { is_listed_ = true; }
  void mark_used() { is_used_ = true; }

  // Those that are lost, too, until their server is connected again.
  std::vector<Device*> devices();
  std::vector<ServerStatus> servers();

 private:
  Platform() = default;
  std::vector<std::future<std::unique_ptr<Session>>> open(const std::vector<ServerName>& names);
  void connect_named_in_environment() REQUIRES(connecting_);
  std::vector<ServerName> missing_of(const std::vector<ServerName>& names);
  std::vector<std::uint32_t> free_indices();
  void add(const ServerName& name, std::unique_ptr<Session> session) REQUIRES(mutex_);
  void remove(const Address& address) REQUIRES(mutex_);
  static void leave_all();

  // Held while servers are connected, one call after the other. What is there already can be used meanwhile.
  Mutex connecting_;
  std::atomic<bool> has_read_environment_{false};
  Mutex mutex_;                                 // the rest
  bool are_wanted_ GUARDED_BY(mutex_) = false;  // servers of REMOTECL_SERVERS are connected
  std::atomic<bool> is_listed_{false};
  std::atomic<bool> is_used_{false};
  std::vector<ServerStatus> servers_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Session>> sessions_ GUARDED_BY(mutex_);  // lost ones, too
  std::vector<Device*> devices_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
