#pragma once

#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/client/objects/handle.h"
#include "runtime/client/support/clock_estimate.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

class Platform;
class Session;

// The properties of a device and of its native platform, by the name of the query.
using DeviceInfo = std::unordered_map<std::uint32_t, std::vector<std::byte>>;

// A device of a server, owned by the platform; or a sub-device, which lives as long as the application, a
// context or a sub-device of its own refers to it; or the platform's automatic device, which stands for others. Any
// thread may use it.
class Device final : public Handle<_cl_device_id, HandleTag::kDevice, CL_INVALID_DEVICE> {
 public:
  Device(Platform& platform, Session& session, const DeviceDescription& description);

  // A sub-device.
  Device(Ref<Device> parent, const DeviceDescription& description);

  // An automatic device: commands on it run on one of its members each. REQUIRES: at least one member; none of them
  // automatic.
  Device(Platform& platform, std::vector<Device*> members, DeviceInfo info);

  // clCreateSubDevices. Asks the server. `room`: how many the application has room for; if 0, only sets
  // `count`.
  cl_int partition(std::span<const cl_device_partition_property> properties, cl_uint room,
                   std::vector<Ref<Device>>& parts, cl_uint& count);

  // To be added to the times of its profiled commands, which converts the times of all servers to this host's
  // clock. Measured at the first call, which takes some round trips, and constant from then on.
  std::uint64_t clock_offset_ns();
  // Reads its clock, with the offset added, and the host's clock at the same moment. May fail with
  // CL_DEVICE_NOT_AVAILABLE.
  cl_int timers(std::uint64_t& device_ns, std::uint64_t& host_ns);

  Platform& platform() const { return platform_; }
  Device* parent() const { return parent_.get(); }
  // The device itself, or the one that it is a sub-device of.
  Device& root() { return parent_ ? parent_->root() : *this; }
  // Of the automatic device: the first member's, which says nothing of the others.
  Session& session() const { return session_; }
  bool is_automatic() const { return !members_.empty(); }
  const std::vector<Device*>& members() const { return members_; }  // of the automatic device
  // Its server is lost; or the servers of all members.
  bool lost() const;
  std::uint32_t index() const { return index_; }  // names the device in messages to its server

  // The native driver's answer to a query, byte for byte, from the time of connecting; null if the driver
  // does not know the query.
  const std::vector<std::byte>* info(cl_device_info name) const;
  const DeviceInfo& all_info() const { return info_; }
  const std::vector<std::byte>* platform_info(cl_platform_info name) const;
  // The same as a number or a text. Returns the fallback if the driver does not know the query.
  template <class T>
  T number(cl_device_info name, T fallback = {}) const {
    const auto* value = info(name);
    T result = fallback;
    if (value != nullptr && value->size() == sizeof(T)) std::memcpy(&result, value->data(), sizeof(T));
    return result;
  }
  std::string text(cl_device_info name) const;
  cl_device_type type() const { return number<cl_device_type>(CL_DEVICE_TYPE); }
  bool takes_il() const { return !text(CL_DEVICE_IL_VERSION).empty(); }  // programs in an intermediate language

 private:
  ~Device() override;

  const Ref<Device> parent_;
  Platform& platform_;
  Session& session_;
  const std::uint32_t index_;
  const std::vector<Device*> members_;
  std::once_flag clock_read_;
  std::uint64_t clock_offset_ns_ = 0;
  std::uint64_t clock_round_trip_ns_ = 0;  // of the reading that the offset is from
  DeviceInfo info_;
  DeviceInfo platform_info_;
};

// The devices that these stand for, each once: members in place of an automatic device.
std::vector<Device*> with_members(const std::vector<Device*>& devices);

// Estimates the clock of a device of that server, given by its index, or the server's own (kServerClock).
// Unknown if the server is lost.
ClockEstimate estimate_clock(Session& session, std::uint32_t device);

}  // namespace remotecl
