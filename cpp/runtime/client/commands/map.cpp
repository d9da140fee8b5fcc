// Mapping: between map and unmap the application sees the host's copy of a buffer.
#include "runtime/client/commands/image_commands.h"
#include "runtime/client/commands/map_plan.h"
#include "runtime/client/commands/transfer_plans.h"

namespace remotecl {
namespace {

struct BufferArea {
  MemoryObject& memory;
  std::uint64_t offset, size;

  ByteRange range() const { return memory.range(offset, size); }
  CoherentHostMemory::Ranges ranges() const { return {range()}; }
  std::byte* add_mapping(cl_map_flags flags) const REQUIRES(kMemoryMutex) {
    std::byte* const pointer = memory.storage().host() + range().offset;
    memory.add_mapping({range(), flags, pointer});
    return pointer;
  }
  void fetch(PendingCommand& command, std::byte* to) const REQUIRES(kMemoryMutex) {
    const TransferRef transfer = expect_bytes(command, false, to, size, memory.shared_storage());
    send_message(command, EnqueueRead{0, 0, memory.id(), offset, size, transfer->id, {}});
  }
  std::uint64_t span() const { return size; }
  bool fills_host_copy() const { return true; }
};

struct UnmapPlan : Plan {
  static constexpr bool kNeedsEvent = true;

  cl_command_type type;
  MemoryObject& buffer;
  void* mapped;
  Mapping mapping{};
  bool is_late = false;     // its bytes are still on their way here
  bool is_kept = false;     // what was written stays in this process until a device needs it
  bool is_written = false;  // what was written is sent to the device

  cl_int prepare(PendingCommand& command) REQUIRES(kMemoryMutex) {
    // OpenCL specifies no error for a pointer to shared virtual memory that is not mapped, so this does
    // nothing.
    if (!buffer.find_mapping(mapped, mapping) && type != CL_COMMAND_SVM_UNMAP) return CL_INVALID_VALUE;
    if ((mapping.flags & kMapsForWriting) == 0) return CL_SUCCESS;
    is_late = command.touches_host(static_cast<std::byte*>(mapped), mapping.range.size);
    // CL_MEM_ALLOC_HOST_PTR: often a staging area that no device ever reads.
    is_kept = (buffer.flags() & CL_MEM_ALLOC_HOST_PTR) != 0 && !is_late;
    is_written = !is_kept;
    return CL_SUCCESS;
  }
  void will_use(auto& uses) const REQUIRES(kMemoryMutex) { uses.writes(buffer, buffer.range(0, buffer.size())); }
  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    if (is_written) uses.writes(buffer, mapping.range);
  }
  cl_int send(PendingCommand& command) const REQUIRES(kMemoryMutex) {
    if (!is_written) {
      send_place_marker(command);
      return CL_SUCCESS;
    }
    if (mapping.range.size > kInlineDataMax || is_late) {
      command.event()->reported_unasked();
      buffer.storage().host_readers.add(Ref<Event>(command.event()));
    }
    command.moves(mapping.range.size, nullptr, &command.queue().device());
    send_write(command.queue(), command.event_id(), buffer, mapping.range.offset - buffer.range(0, 0).offset,
               static_cast<std::byte*>(mapped), mapping.range.size, command.wait_list(), buffer.shared_storage(),
               is_late, command.commit_record());
    return CL_SUCCESS;
  }
  void sent(PendingCommand&) const REQUIRES(kMemoryMutex) {
    BufferStorage& storage = buffer.storage();
    if (buffer.remove_mapping(mapped) && storage.coherent) storage.coherent->unmapped({mapping.range});
    if (is_kept) storage.written(mapping.range, kHost);
    // The device holds what the application wrote, and so does the host until the next write.
    if (is_written && !is_late) storage.residency.add_holder(mapping.range, kHost);
  }
};

}  // namespace

cl_int enqueue_map(CommandQueue& queue, MemoryObject& buffer, bool blocking, cl_map_flags flags, std::uint64_t offset,
                   std::uint64_t size, WaitList wait, Event** event, void** mapped, cl_command_type type) {
  return submit(queue, MapPlan<BufferArea>{{}, type, blocking, flags, {buffer, offset, size}, mapped}, wait, event);
}

cl_int enqueue_unmap(CommandQueue& queue, MemoryObject& buffer, void* mapped, WaitList wait, Event** event,
                     cl_command_type type) {
  if (buffer.image() != nullptr) return enqueue_unmap_image(queue, buffer, mapped, wait, event);
  return submit(queue, UnmapPlan{{}, type, buffer, mapped}, wait, event);
}

}  // namespace remotecl
