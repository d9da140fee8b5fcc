#include "server/session/session_objects.h"

#include <iterator>
#include <set>
#include <string>

#include "server/util/protocol_error.h"

namespace remotecl::server {

Device& SessionObjects::device(std::uint32_t index) {
  Device* device = grant_.sees(index) ? driver_.device(index) : nullptr;
  if (device == nullptr) device = sub_devices.find(index);
  if (device == nullptr) throw ProtocolError("device " + std::to_string(index) + " does not exist");
  return *device;
}

Queue& SessionObjects::queue(ObjectId id) {
  Queue* queue = queues.find(id);
  if (queue == nullptr) throw ProtocolError("queue " + std::to_string(id) + " does not exist");
  return *queue;
}

Ref<Program> SessionObjects::program(ObjectId id) {
  Ref<Program> program(programs.find(id));
  if (!program) throw ProtocolError("program " + std::to_string(id) + " does not exist");
  return program;
}

Ref<Program> SessionObjects::add_program(ObjectId id, ProgramOrigin origin) {
  auto program = make_ref<Program>(origin, counters_);
  if (!programs.insert(id, program)) {
    throw ProtocolError("program id " + std::to_string(id) + " cannot be used or is in use");
  }
  return program;
}

void SessionObjects::check_new_devices(const Array<std::uint32_t>& indices) {
  if (indices.size() > kSubDevicesMax) throw ProtocolError("more sub-devices are asked for than the protocol allows");
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::uint32_t index = indices[i];
    if (index >= kDeviceIndexMax || driver_.device(index) != nullptr || sub_devices.find(index) != nullptr ||
        !seen.insert(index).second) {
      throw ProtocolError("device index " + std::to_string(index) + " cannot be used or is in use");
    }
  }
}

Ref<DeviceTurn> SessionObjects::turn_on(Device& device) {
  Ref<DeviceTurn>& turn = turns_[device.root().index()];
  if (!turn) {
    turn = device.turns()->join(strand_.id(), grant_.weight(), grant_.queued_commands_max(), strand_.completions(),
                                grant_.command_time_max().has_value());
  }
  return turn;
}

void SessionObjects::end_turns() {
  for (const auto& [device, turn] : turns_) {
    if (turn) turn->end_waits();
  }
}

Buffer* SessionObjects::svm_at(std::uint64_t address) const {
  auto after = svm.upper_bound(address);
  if (after == svm.begin()) return nullptr;
  Buffer& buffer = *std::prev(after)->second;
  return buffer.svm()->contains(address) ? &buffer : nullptr;
}

Memory* SessionObjects::memory_of(const StoredArgument& argument) const {
  if (argument.kind() == ArgumentKind::kMemory) {
    if (Buffer* buffer = buffers.find(argument.number())) return buffer;
    return provided.arguments.find(argument.number());
  }
  if (argument.kind() == ArgumentKind::kImage) return images.find(argument.number());
  if (argument.kind() == ArgumentKind::kSvm) return svm_at(argument.number());
  return nullptr;
}

void SessionObjects::count(std::uint64_t others) {
  // Rough sizes, with the entries in the tables. A queue may have a block for small writes.
  constexpr std::uint64_t kObjectSize = 256, kQueueSize = BlockPool::kBlockSize + 16384;
  const std::uint64_t objects = buffers.size() + provided.arguments.size() + images.size() + samplers.size() +
                                programs.size() + kernels.size() + command_buffers.size();
  tables_.follow(objects * kObjectSize + queues.size() * kQueueSize + others);
}

void SessionObjects::clear_programs() {
  command_buffers.clear();
  kernels.clear();
  programs.clear();
}

void SessionObjects::clear_memory() {
  images.clear();
  samplers.clear();
  provided.arguments.clear();
  buffers.clear();
  svm.clear();
  releasing.clear();
  queues.clear();
  for (const auto& [device, turn] : turns_) {
    if (turn) turn->leave();
  }
}

}  // namespace remotecl::server
