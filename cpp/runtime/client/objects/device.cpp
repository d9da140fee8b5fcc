#include "runtime/client/objects/device.h"

#include <algorithm>

#include "runtime/client/objects/image_formats.h"
#include "runtime/client/session/request.h"

namespace remotecl {
namespace {

void copy_info(const Sequence<InfoValue>& from, DeviceInfo& to) {
  from.for_each([&to](const InfoValue& value) { to[value.name].assign(value.value.begin(), value.value.end()); });
}

}  // namespace

Device::Device(Platform& platform, Session& session, const DeviceDescription& description)
    : platform_(platform), session_(session), index_(description.index) {
  copy_info(description.info, info_);
  copy_info(description.platform_info, platform_info_);
}

Device::Device(Ref<Device> parent, const DeviceDescription& description)
    : parent_(std::move(parent)),
      platform_(parent_->platform_),
      session_(parent_->session_),
      index_(description.index),
      platform_info_(parent_->platform_info_) {
  copy_info(description.info, info_);
}

Device::Device(Platform& platform, std::vector<Device*> members, DeviceInfo info)
    : platform_(platform),
      session_(members.front()->session_),
      index_(members.front()->index_),
      members_(std::move(members)),
      info_(std::move(info)) {}

Device::~Device() {
  if (!parent_) return;
  forget_image_formats(*this);
  session_.send(ReleaseSubDevice{index_});
  session_.device_indices().give_back(index_);
}

cl_int Device::partition(std::span<const cl_device_partition_property> properties, cl_uint room,
                         std::vector<Ref<Device>>& parts, cl_uint& count) {
  // "CL_DEVICE_PARTITION_FAILED if the partition name is supported by the implementation but in_device could not be
  // further partitioned."
  if (is_automatic()) return CL_DEVICE_PARTITION_FAILED;
  struct SubDeviceReply {
    cl_int error;
    cl_uint count;
    std::vector<Ref<Device>> parts;
  };
  const std::vector<std::uint32_t> indices = session_.device_indices().take(std::min(room, kSubDevicesMax));
  if (room != 0 && indices.empty()) return CL_OUT_OF_RESOURCES;
  const std::vector<std::int64_t> values(properties.begin(), properties.end());
  const auto send = [&](Token token) {
    session_.send(CreateSubDevices{index_, token, std::span<const std::int64_t>(values),
                                   std::span<const std::uint32_t>(indices)});
  };
  const auto take = [this, indices](const SubDevices& report) {
    SubDeviceReply reply{report.error, report.count, {}};
    report.devices.for_each([&](const DeviceDescription& description) {
      // Takes only the requested indices, in order. No others may be used or released.
      if (reply.parts.size() < indices.size() && description.index == indices[reply.parts.size()]) {
        reply.parts.push_back(make_ref<Device>(Ref<Device>(this), description));
      }
    });
    return reply;
  };
  SubDeviceReply reply = ask<SubDevices>(session_, send, take).value_or(SubDeviceReply{CL_DEVICE_NOT_AVAILABLE, 0, {}});
  for (std::size_t unused = reply.parts.size(); unused < indices.size(); ++unused) {
    session_.device_indices().give_back(indices[unused]);
  }
  count = reply.count;
  parts = std::move(reply.parts);
  if (reply.error == CL_SUCCESS && room != 0 && parts.size() != count) return CL_OUT_OF_RESOURCES;
  return reply.error;
}

bool Device::lost() const {
  if (!is_automatic()) return session_.lost();
  return std::all_of(members_.begin(), members_.end(), [](const Device* member) { return member->lost(); });
}

std::vector<Device*> with_members(const std::vector<Device*>& devices) {
  std::vector<Device*> result;
  const auto add = [&result](Device* device) {
    if (std::find(result.begin(), result.end(), device) == result.end()) result.push_back(device);
  };
  for (Device* device : devices) {
    if (!device->is_automatic()) add(device);
    for (Device* member : device->members()) add(member);
  }
  return result;
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
