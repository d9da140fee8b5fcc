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
#include "server/execution/strand.h"
#include "server/memory/buffer.h"
#include "server/memory/image.h"
#include "server/memory/region.h"
#include "server/memory/sampler.h"
#include "server/program/kernel.h"
#include "server/program/program.h"
#include "server/quota/held_memory.h"
#include "server/session/provided_table.h"
#include "server/util/object_table.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// Shared memory that commands may still use.
struct KeptBuffers {
  std::vector<Ref<Buffer>> buffers;
  HeldMemory held;
};

// The objects that a client has created, by the ids that it chose. Looking up an id that does not exist throws
// ProtocolError where a reference is returned.
class SessionObjects {
 public:
  SessionObjects(NativeDriver& driver, Grant& grant, const Strand& strand, const Ref<SessionCounters>& counters)
      : driver_(driver), grant_(grant), strand_(strand), counters_(counters) {}

  const Ref<SessionCounters>& counters() const { return counters_; }

  Device& device(std::uint32_t index);
  Queue& queue(ObjectId id) REQUIRES(session_lock);
  Ref<Program> program(ObjectId id) REQUIRES(session_lock);
  // Throws ProtocolError if the id is in use.
  Ref<Program> add_program(ObjectId id, ProgramOrigin origin) REQUIRES(session_lock);
  // Throws ProtocolError for indices that new sub-devices cannot have.
  void check_new_devices(const Array<std::uint32_t>& indices);
  // The session's turn on a device, or null if another session has claimed the device.
  Ref<DeviceTurn> turn_on(Device& device) REQUIRES(session_lock);
  // The session is over: no thread of it waits for its turn on a device any more.
  void end_turns() REQUIRES(session_lock);
  // The allocation that contains an address of the client's, or null.
  Buffer* svm_at(std::uint64_t address) const REQUIRES(session_lock);
  // The buffer, provided argument, image or shared memory that an argument names, or null.
  Memory* memory_of(const StoredArgument& argument) const REQUIRES(session_lock);
  // The region that a transfer between peers or devices names.
  template <class Message>
  cl_int region_of(const Message& message, Region& region) REQUIRES(session_lock);

  // Counts the memory that these tables take, and `others` for other tables. Throws HeldTooMuch.
  void count(std::uint64_t others) REQUIRES(session_lock);
  // For the end of the session: clear_programs() while the driver still has commands, clear_memory() after
  // they have ended.
  void clear_programs() REQUIRES(session_lock);
  void clear_memory() REQUIRES(session_lock);

 private:
  NativeDriver& driver_;
  Grant& grant_;
  const Strand& strand_;
  const Ref<SessionCounters> counters_;
  std::map<std::uint32_t, Ref<DeviceTurn>> turns_ GUARDED_BY(session_lock);  // by device; sub-devices use their root's
  HeldMemory tables_ GUARDED_BY(session_lock){counters_};                    // what the tables and their objects take

 public:
  SubDeviceTable sub_devices;  // before all members that may refer to one
  HeldMemory sub_device_memory GUARDED_BY(session_lock){counters_};
  const Ref<BlockPool> blocks = make_ref<BlockPool>(strand_.completions());
  ObjectTable<Queue> queues GUARDED_BY(session_lock);
  ObjectTable<Buffer> buffers GUARDED_BY(session_lock);
  std::map<std::uint64_t, Ref<Buffer>> svm GUARDED_BY(session_lock);  // allocations by address; also in `buffers`
  std::list<KeptBuffers> releasing GUARDED_BY(session_lock);  // kept for commands that were sent before the release
  ObjectTable<Image> images GUARDED_BY(session_lock);
  ObjectTable<Sampler> samplers GUARDED_BY(session_lock);
  ProvidedTable provided;
  ObjectTable<Program> programs GUARDED_BY(session_lock);
  ObjectTable<Kernel> kernels GUARDED_BY(session_lock);
  ObjectTable<CommandBuffer> command_buffers GUARDED_BY(session_lock);
  // Grows with each release of a buffer, image or sampler; kernel arguments are then checked again.
  std::uint64_t released_arguments GUARDED_BY(session_lock) = 0;
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
