// Mapping: the host's copy of a buffer is what the application sees between map and unmap.
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/image_commands.h"
#include "runtime/client/commands/pending_command.h"
#include "runtime/client/support/inbound_host_ranges.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

constexpr cl_map_flags kWrites = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

void send_marker(PendingCommand& command) {
  const std::uint32_t for_all = command.queue().in_order() ? 1 : 0;
  command.send(EnqueueMarker{command.queue().id(), command.event_id(), 0, for_all, command.wait_list()});
}

// Fetches the bytes into the host's copy. The event ends when they are there.
void send_fetch(PendingCommand& command, MemoryObject& buffer, std::uint64_t offset, std::uint64_t size,
                std::byte* to) {
  Ref<Event> event(command.event());
  event->add_hold();
  event->reported_unasked();
  Session& session = command.session();
  session.add_interest();
  Ref<CommandQueue> queue(&command.queue());
  command.touches_host(to, size);
  const InboundHostRanges::Ticket arrival = InboundHostRanges::instance().begin(to, size);
  const PendingReads::Ticket ticket = queue->pending_reads().begin();
  const TransferRef transfer = session.begin_receive(
      queue->device().index(), to, size,
      [event, queue, ticket, arrival, &session](cl_int status) {
        InboundHostRanges::instance().end(arrival);
        queue->pending_reads().end(ticket);
        event->release_hold(status);
        session.drop_interest();
      },
      buffer.shared_storage());
  transfer->trace = command.record_id();
  command.moves(size, &queue->device(), nullptr);
  command.send(
      EnqueueRead{command.queue().id(), event->id(), buffer.id(), offset, size, transfer->id, command.wait_list()});
}

}  // namespace

cl_int enqueue_map(CommandQueue& queue, MemoryObject& buffer, bool blocking, cl_map_flags flags, std::uint64_t offset,
                   std::uint64_t size, WaitList wait, Event** event, void** mapped, cl_command_type type) {
  PendingCommand command(queue, type, wait, true);
  if (command.error() != CL_SUCCESS) return command.error();
  BufferStorage& storage = buffer.storage();
  const ByteRange range = buffer.range(offset, size);
  if (storage.coherent) storage.coherent->mapped(buffer, {range});
  const bool fetch = (flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0 && !storage.residency.valid(range, kHost);
  if (fetch) command.reads(buffer, range);
  if (command.error() != CL_SUCCESS) {
    if (storage.coherent) storage.coherent->unmapped({range});
    return command.error();
  }
  command.waits_for_host_readers(storage);
  void* const pointer = buffer.add_mapping(offset, size, flags);
  if (fetch) {
    send_fetch(command, buffer, offset, size, static_cast<std::byte*>(pointer));
  } else {
    command.touches_host(static_cast<std::byte*>(pointer), size);
    send_marker(command);
  }
  const std::uint64_t writes = storage.writes;
  Ref<Event> own = command.sent(blocking);
  if (blocking && own->wait_in_call(event)) {
    const cl_int status = own->status();
    const MutexLock lock(queue.context().memory_mutex());
    if (status < 0) {
      MemoryObject::Mapping removed;
      buffer.remove_mapping(pointer, removed);
      if (storage.coherent) storage.coherent->unmapped({range});
      return status;
    }
    // Nothing has written meanwhile: the host holds the newest bytes too, until something does.
    if (fetch && storage.writes == writes) storage.residency.add_holder(range, kHost);
  }
  *mapped = pointer;
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

cl_int enqueue_unmap(CommandQueue& queue, MemoryObject& buffer, void* mapped, WaitList wait, Event** event,
                     cl_command_type type) {
  if (buffer.image() != nullptr) return enqueue_unmap_image(queue, buffer, mapped, wait, event);
  PendingCommand command(queue, type, wait, true);
  if (command.error() != CL_SUCCESS) return command.error();
  MemoryObject::Mapping mapping{};
  // No error is specified for a pointer to shared virtual memory that is not mapped: nothing is to be done.
  if (!buffer.remove_mapping(mapped, mapping) && type != CL_COMMAND_SVM_UNMAP) return CL_INVALID_VALUE;
  if (const auto& coherent = buffer.storage().coherent)
    coherent->unmapped({buffer.range(mapping.offset, mapping.size)});
  if ((mapping.flags & kWrites) == 0) {
    send_marker(command);
    Ref<Event> own = command.sent();
    if (event != nullptr) *event = own.detach();
    return CL_SUCCESS;
  }
  BufferStorage& storage = buffer.storage();
  const ByteRange range = buffer.range(mapping.offset, mapping.size);
  // It may end a mapping whose bytes are still on their way here.
  const bool late = command.touches_host(static_cast<std::byte*>(mapped), mapping.size);
  if ((buffer.flags() & CL_MEM_ALLOC_HOST_PTR) != 0 && !late) {
    // It lives in this process's memory, by its owner's wish: often as a staging area that no device ever reads. A
    // device that does gets it then.
    send_marker(command);
    Ref<Event> own = command.sent_and([&] {
      storage.residency.write(range, kHost);
      ++storage.writes;
    });
    if (event != nullptr) *event = own.detach();
    return CL_SUCCESS;
  }
  command.writes(buffer, range);
  if (mapping.size > kInlineDataMax || late) {
    command.event()->reported_unasked();
    storage.host_readers.push_back(Ref<Event>(command.event()));
  }
  command.moves(mapping.size, nullptr, &queue.device());
  send_write(queue, command.event_id(), buffer, mapping.offset, static_cast<std::byte*>(mapped), mapping.size,
             command.wait_list(), buffer.shared_storage(), late, command.commit_record());
  // The device holds what the application wrote; so does the host, until something else writes.
  Ref<Event> own = command.sent_and([&] {
    if (!late) storage.residency.add_holder(range, kHost);
  });
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

}  // namespace remotecl
