#include "runtime/client/device.h"

namespace remotecl {
namespace {

void copy_info(const Sequence<InfoValue>& from, std::unordered_map<std::uint32_t, std::vector<std::byte>>& to) {
  from.for_each([&to](const InfoValue& value) { to[value.name].assign(value.value.begin(), value.value.end()); });
}

}  // namespace

Device::Device(Platform& platform, Session& session, const DeviceDescription& description)
    : platform_(platform), session_(session), index_(description.index) {
  copy_info(description.info, info_);
  copy_info(description.platform_info, platform_info_);
}

const std::vector<std::byte>* Device::info(cl_device_info name) const {
  const auto at = info_.find(name);
  return at == info_.end() ? nullptr : &at->second;
}

const std::vector<std::byte>* Device::platform_info(cl_platform_info name) const {
  const auto at = platform_info_.find(name);
  return at == platform_info_.end() ? nullptr : &at->second;
}

std::string Device::text(cl_device_info name) const {
  const auto* value = info(name);
  if (value == nullptr) return {};
  std::string text(as_text(*value));
  if (const std::size_t end = text.find('\0'); end != std::string::npos) text.resize(end);
  return text;
}

}  // namespace remotecl
