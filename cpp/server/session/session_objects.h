#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "runtime/protocol/messages.h"
#include "server/admission/users.h"
#include "server/driver/native_driver.h"
#include "server/driver/sub_device_table.h"
#include "server/execution/command_buffer.h"
#include "server/execution/queue.h"
#include "server/memory/buffer.h"
#include "server/memory/image.h"
#include "server/memory/region.h"
#include "server/memory/sampler.h"
#include "server/program/kernel.h"
#include "server/program/program.h"
#include "server/quota/held_memory.h"
#include "server/util/object_table.h"

namespace remotecl::server {

// Shared memory that commands may still use.
struct KeptBuffers {
  std::vector<Ref<Buffer>> buffers;
  HeldMemory held;
};

// What a client has made, by its ids, and how a message's ids are looked up: what does not exist throws ProtocolError.
// Needs the session's lock where nothing else is said.
class SessionObjects {
 public:
  SessionObjects(NativeDriver& driver, Grant& grant, std::uint64_t session, const Ref<SessionCounters>& counters)
      : driver_(driver), grant_(grant), session_(session), counters_(counters) {}

  const Ref<SessionCounters>& counters() const { return counters_; }  // any thread

  Device& device(std::uint32_t index);  // any thread
  Queue& queue(ObjectId id);
  Ref<Program> program(ObjectId id);
  // Throws ProtocolError when the id is in use.
  Ref<Program> add_program(ObjectId id, ProgramOrigin origin);
  // Throws ProtocolError for indices of new sub-devices that cannot be.
  void check_new_devices(const Array<std::uint32_t>& indices);
  // The session's turn on a device; null when another one has it alone.
  Ref<DeviceTurn> turn_on(Device& device);
  // The allocation that an address of the client's lies in, or null.
  Buffer* svm_at(std::uint64_t address) const;
  // The buffer, image or shared memory that an argument names; null when there is none.
  Memory* memory_of(const StoredArgument& argument) const;
  // What a transfer between peers or devices names.
  template <class Message>
  cl_int region_of(const Message& message, Region& region);

  // Counts what messages so far have left in these tables, and `others` in other ones. Throws HeldTooMuch.
  void count(std::uint64_t others);
  // Without and with the driver's commands that use them: the session has ended.
  void clear_programs();
  void clear_memory();

 private:
  NativeDriver& driver_;
  Grant& grant_;
  const std::uint64_t session_;
  const Ref<SessionCounters> counters_;
  std::map<std::uint32_t, Ref<DeviceTurn>> turns_;  // by the device, parts in its name
  HeldMemory tables_{counters_};                    // what the tables and what they name take

 public:
  SubDeviceTable sub_devices;  // before everything that may refer to one
  HeldMemory sub_device_memory{counters_};
  const Ref<BlockPool> blocks = make_ref<BlockPool>();
  ObjectTable<Queue> queues;
  ObjectTable<Buffer> buffers;
  std::map<std::uint64_t, Ref<Buffer>> svm;  // allocations by address; they are in `buffers`, too
  std::list<KeptBuffers> letting_go;         // kept for commands that were sent before their release
  ObjectTable<Image> images;
  ObjectTable<Sampler> samplers;
  ObjectTable<Program> programs;
  ObjectTable<Kernel> kernels;
  ObjectTable<CommandBuffer> command_buffers;
  // Buffers, images and samplers so far: kernel arguments are checked again when it has changed.
  std::uint64_t released_arguments = 0;
};

template <class Message>
cl_int SessionObjects::region_of(const Message& message, Region& region) {
  if (message.is_image != 0) {
    Ref<Image> image(images.find(message.memory));
    if (!image) return CL_INVALID_MEM_OBJECT;
    const Extent whole = image->shape().whole();
    region.size = image->shape().packed_size(whole);
    for (int i = 0; i < 3; ++i) region.extent[i] = whole[i];
    region.image = std::move(image);
    return region.size == message.size && message.offset == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
  }
  Ref<Buffer> buffer(buffers.find(message.memory));
  if (!buffer) return CL_INVALID_MEM_OBJECT;
  if (message.size == 0 || !buffer->contains(message.offset, message.size)) return CL_INVALID_VALUE;
  region = {std::move(buffer), false, message.offset, message.size};
  return CL_SUCCESS;
}

}  // namespace remotecl::server
