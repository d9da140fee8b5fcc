#include <deque>
#include <vector>

#include "runtime/base/host_time.h"
#include "server/driver/device_info_view.h"
#include "server/handlers/handlers.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kPropertiesMax = 4096;
constexpr std::uint64_t kDeviceSize = 16384;  // the rough size of a sub-device and its answers

std::vector<cl_device_partition_property> properties_of(const CreateSubDevices& message) {
  if (message.properties.size() > kPropertiesMax) throw ProtocolError("a partition has too many properties");
  std::vector<cl_device_partition_property> properties;
  for (std::size_t i = 0; i < message.properties.size(); ++i) {
    properties.push_back(static_cast<cl_device_partition_property>(message.properties[i]));
  }
  // The driver reads up to a 0; a list of counts needs a second one.
  properties.insert(properties.end(), 2, 0);
  return properties;
}

}  // namespace

void handle(Session& session, const CreateSubDevices& message) {
  Device& parent = session.objects().device(message.device);
  session.objects().check_new_devices(message.indices);
  const auto properties = properties_of(message);
  const auto room = static_cast<cl_uint>(message.indices.size());
  std::vector<cl_device_id> ids(room);
  cl_uint count = 0;
  if (!session.objects().sub_device_memory.try_follow((session.objects().sub_devices.ever() + room) * kDeviceSize)) {
    session.outbox().add(SubDevices{message.token, CL_OUT_OF_HOST_MEMORY, 0, {}});
    return;
  }
  const cl_int error = parent.partition(properties.data(), ids, count);
  if (error != CL_SUCCESS || room == 0) {
    session.outbox().add(SubDevices{message.token, error, count, {}});
    return;
  }
  std::vector<Device*> made;
  for (cl_uint i = 0; i < count; ++i) {
    auto part = std::make_unique<Device>(message.indices[i], parent, ids[i]);
    made.push_back(part.get());
    session.objects().sub_devices.add(std::move(part));
  }
  std::deque<DeviceInfoView> infos;
  std::vector<DeviceDescription> descriptions;
  for (const Device* part : made) {
    const auto& info = infos.emplace_back(part->traits().info, session.grant().device_memory_max());
    descriptions.push_back({part->index(), {}, info.values()});
  }
  session.outbox().add(SubDevices{message.token, error, count, std::span<const DeviceDescription>(descriptions)});
}

void handle(Session& session, const ReleaseSubDevice& message) {
  Device* device = session.objects().sub_devices.take(message.device);
  if (device == nullptr) throw ProtocolError("sub-device " + std::to_string(message.device) + " does not exist");
  // Runs after the builds that were sent before, because they use the device's context.
  session.builder().post([&session, device] {
    session.transfers().drop_staging(*device);
    device->close();  // without the lock, because the driver may take long
  });
}

void handle(Session& session, const ReadClock& message) {
  if (message.device == kServerClock) return session.outbox().add(Clock{message.token, CL_SUCCESS, host_time_ns()});
  Device& on = session.objects().device(message.device);
  const auto reply = [&session, &on, token = message.token, held = hold_reply(session.counters())] {
    cl_ulong time_ns = 0;
    const cl_int error = on.clock().read(time_ns);
    session.outbox().add(Clock{token, error, time_ns});
  };
  if (!on.clock().reads_slowly()) return reply();
  session.queue_watch().post([&session, reply] {
    reply();
    session.outbox().flush();
  });
}

}  // namespace remotecl::server
