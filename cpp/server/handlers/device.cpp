#include <deque>
#include <set>
#include <vector>

#include "runtime/base/host_time.h"
#include "server/driver/info_views.h"
#include "server/session/session.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kPropertiesMax = 4096;
constexpr std::uint64_t kDeviceSize = 16384;  // of a sub-device with its answers, about

std::vector<cl_device_partition_property> properties_of(const CreateSubDevices& message) {
  if (message.properties.size() > kPropertiesMax) throw ProtocolError("a partition has too many properties");
  std::vector<cl_device_partition_property> properties;
  for (std::size_t i = 0; i < message.properties.size(); ++i) {
    properties.push_back(static_cast<cl_device_partition_property>(message.properties[i]));
  }
  // The driver reads up to one 0, after a list of counts up to another one.
  properties.insert(properties.end(), 2, 0);
  return properties;
}

}  // namespace

Device& Session::device(std::uint32_t index) {
  Device* device = grant_->sees(index) ? shared_.driver.device(index) : nullptr;
  if (device == nullptr) device = sub_devices_.find(index);
  if (device == nullptr) throw ProtocolError("device " + std::to_string(index) + " does not exist");
  return *device;
}

void Session::check_indices(const Array<std::uint32_t>& indices) {
  if (indices.size() > kSubDevicesMax) throw ProtocolError("more sub-devices are asked for than the protocol allows");
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::uint32_t index = indices[i];
    if (index >= kDeviceIndexMax || shared_.driver.device(index) != nullptr || sub_devices_.find(index) != nullptr ||
        !seen.insert(index).second) {
      throw ProtocolError("device index " + std::to_string(index) + " cannot be used or is in use");
    }
  }
}

void Session::handle(const CreateSubDevices& message) {
  Device& parent = device(message.device);
  check_indices(message.indices);
  const auto properties = properties_of(message);
  const auto room = static_cast<cl_uint>(message.indices.size());
  std::vector<cl_device_id> ids(room);
  cl_uint count = 0;
  if (!sub_device_memory_.try_follow((sub_devices_.ever() + room) * kDeviceSize)) {
    outbox_.add(SubDevices{message.token, CL_OUT_OF_HOST_MEMORY, 0, {}});
    return;
  }
  const cl_int error = parent.partition(properties.data(), ids, count);
  if (error != CL_SUCCESS || room == 0) {
    outbox_.add(SubDevices{message.token, error, count, {}});
    return;
  }
  std::vector<Device*> made;
  for (cl_uint i = 0; i < count; ++i) {
    auto part = std::make_unique<Device>(message.indices[i], parent, ids[i]);
    made.push_back(part.get());
    sub_devices_.add(std::move(part));
  }
  std::deque<InfoViews> infos;
  std::vector<DeviceDescription> descriptions;
  for (const Device* part : made) {
    const auto& info = infos.emplace_back(part->info(), grant_->device_memory_max());
    descriptions.push_back({part->index(), {}, info.values()});
  }
  outbox_.add(SubDevices{message.token, error, count, std::span<const DeviceDescription>(descriptions)});
}

void Session::handle(const ReleaseSubDevice& message) {
  Device* device = sub_devices_.take(message.device);
  if (device == nullptr) throw ProtocolError("sub-device " + std::to_string(message.device) + " does not exist");
  // Behind the builds that were sent before: they use its context.
  builds_.post([this, device] {
    rings_.drop(*device);
    MutexLock lock(mutex_);
    device->close();
  });
}

void Session::handle(const ReadClock& message) {
  if (message.device == kServerClock) return outbox_.add(Clock{message.token, CL_SUCCESS, host_time_ns()});
  Device& on = device(message.device);
  const auto answer = [this, &on, token = message.token, held = hold_answer()] {
    cl_ulong time_ns = 0;
    const cl_int error = on.clock().read(time_ns);
    outbox_.add(Clock{token, error, time_ns});
  };
  if (!on.clock().reads_slowly()) return answer();
  finishers_.post([this, answer] {
    answer();
    outbox_.flush();
  });
}

}  // namespace remotecl::server
