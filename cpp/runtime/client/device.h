#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/client/handle.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

class Platform;
class Session;

// A device of a server. Owned by the platform and immutable: any thread may use it.
class Device final : public Handle<_cl_device_id, HandleTag::kDevice, CL_INVALID_DEVICE> {
 public:
  Device(Platform& platform, Session& session, const DeviceDescription& description);

  Platform& platform() const { return platform_; }
  Session& session() const { return session_; }
  std::uint32_t index() const { return index_; }  // names the device in messages to its server

  // What the native driver answered to a query at connect, byte for byte; null when it knows no such query.
  const std::vector<std::byte>* info(cl_device_info name) const;
  const std::vector<std::byte>* platform_info(cl_platform_info name) const;
  // The same as a number or text; the fallback when the driver knows no such query.
  template <class T>
  T number(cl_device_info name, T fallback = {}) const {
    const auto* value = info(name);
    T result = fallback;
    if (value != nullptr && value->size() == sizeof(T)) std::memcpy(&result, value->data(), sizeof(T));
    return result;
  }
  std::string text(cl_device_info name) const;
  cl_device_type type() const { return number<cl_device_type>(CL_DEVICE_TYPE); }

 private:
  Platform& platform_;
  Session& session_;
  const std::uint32_t index_;
  std::unordered_map<std::uint32_t, std::vector<std::byte>> info_;
  std::unordered_map<std::uint32_t, std::vector<std::byte>> platform_info_;
};

}  // namespace remotecl
