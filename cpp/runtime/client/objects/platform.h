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
  std::string name;            // as given by the user, with options
};

// The one platform, with the devices of all servers, which come and go. Lost sessions and devices stay in
// memory, so that their handles remain valid. Lives until the process ends.
class Platform final : public Handle<_cl_platform_id, HandleTag::kPlatform, CL_INVALID_PLATFORM> {
 public:
  static Platform& instance();

  // What its sessions share.
  SessionGroup& group() { return group_; }

  // Connects to the servers of REMOTECL_SERVERS, once. If one cannot be reached, that is reported on stderr (unless
  // REMOTECL_LOG is "off"), and all are left out, or this one, or the process ends (wanted_servers). Does nothing if
  // REMOTECL_DISABLE is on.
  void connect_configured();
  // Connects to more servers. If it throws ConnectionError or std::invalid_argument, none of them is added.
  // Skips servers that are connected already; replaces the devices of a lost server by new ones.
  void connect(const std::string& servers);
  // Ends the session with a server, whose devices are no longer listed. Returns false if there is none.
  bool disconnect(const Address& address);
  // Whether any server has been configured or connected; otherwise no platform is reported.
  bool configured();
  // A loader has asked for the platform; the program has created a context, or asked for a device's name.
  void mark_listed() { is_listed_ = true; }
  void mark_used() { is_used_ = true; }

  // Includes lost ones, until their server is connected again.
  std::vector<Device*> devices();
  // Those that the application sees: with the automatic device, which is the first one, if it is on.
  std::vector<Device*> listed_devices();
  // Lists the automatic device from now on, as REMOTECL_AUTO does, and returns it; null while there is nothing that it
  // could stand for.
  Device* list_automatic_device();
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
  Device* automatic_device() REQUIRES(mutex_);
  void forget_automatic_device() REQUIRES(mutex_);

  SessionGroup group_;
  // Held while connecting, so that one call comes after the other. Existing servers can be used meanwhile.
  Mutex connecting_;
  std::atomic<bool> has_read_environment_{false};
  Mutex mutex_;                                 // for everything else
  bool are_wanted_ GUARDED_BY(mutex_) = false;  // the servers of REMOTECL_SERVERS are connected
  std::atomic<bool> is_listed_{false};
  std::atomic<bool> is_used_{false};
  std::vector<ServerStatus> servers_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Session>> sessions_ GUARDED_BY(mutex_);  // includes lost ones
  std::vector<Device*> devices_ GUARDED_BY(mutex_);
  bool is_automatic_listed_ GUARDED_BY(mutex_) = false;
  Device* automatic_ GUARDED_BY(mutex_) = nullptr;          // null: to be made for the present devices
  std::vector<Device*> former_devices_ GUARDED_BY(mutex_);  // no longer listed; their handles remain valid
};

}  // namespace remotecl
