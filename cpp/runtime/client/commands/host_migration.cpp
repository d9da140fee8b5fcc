// Migration to the host. Afterwards maps, and uploads to other servers, find the bytes in this process.
#include "runtime/client/commands/command_plan.h"
#include "runtime/client/commands/memory_messages.h"
#include "runtime/client/support/inbound_host_ranges.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// The host's copy is the newest if nothing has written since; `writes` is empty for a limited copy. This is only a
// hint, so it is skipped if the lock is busy.
void note_host_copy(MemoryObject& memory, ByteRange range, std::optional<std::uint64_t> writes) {
  if (!memory.context().memory_mutex().try_lock()) return;
  const MutexLock lock(memory.context().memory_mutex(), AdoptLock());
  BufferStorage& storage = memory.storage();
  if (storage.writes == writes) storage.residency.add_holder(range, kHost);
}

struct MigrateToHostPlan : Plan {
  static constexpr bool kNeedsEvent = true;

  cl_command_type type;
  std::span<MemoryObject* const> buffers;

  // The application may be writing to mapped bytes.
  static bool is_needed(MemoryObject& memory) REQUIRES(kMemoryMutex) {
    const ByteRange range = memory.range(0, memory.size());
    return !memory.storage().residency.valid(range, kHost) && !memory.storage().is_mapped(range);
  }
  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    for (MemoryObject* memory : buffers) {
      if (is_needed(*memory)) uses.reads(*memory, memory->range(0, memory->size()));
    }
  }
  cl_int send(PendingCommand& command) const REQUIRES(kMemoryMutex) {
    std::vector<Ref<Event>> reads;
    for (MemoryObject* memory : buffers) {
      if (is_needed(*memory)) reads.push_back(read(command, *memory));
    }
    std::vector<EventId> waits(command.wait_list().size());
    for (std::size_t i = 0; i < waits.size(); ++i) waits[i] = command.wait_list()[i];
    for (const Ref<Event>& read : reads) waits.push_back(read->id());
    CommandQueue& queue = command.queue();
    const std::uint32_t for_all = queue.in_order() ? 1 : 0;
    command.send(EnqueueMarker{queue.id(), command.event_id(), 0, for_all, std::span<const EventId>(waits)});
    return CL_SUCCESS;
  }
  Ref<Event> read(PendingCommand& command, MemoryObject& memory) const REQUIRES(kMemoryMutex);
};

Ref<Event> MigrateToHostPlan::read(PendingCommand& command, MemoryObject& memory) const {
  const ByteRange range = memory.range(0, memory.size());
  BufferStorage& storage = memory.storage();
  Session& session = command.session();
  command.waits_for_host_readers(storage);
  Ref<CommandQueue> queue(&command.queue());
  auto read = make_ref<Event>(*queue, type, true, true);
  read->reported_unasked();
  Ref<Event> whole(command.event());
  whole->add_hold();
  session.add_interest();
  std::byte* const host = storage.host() + range.offset;
  command.touches_host(host, range.size);
  const InboundHostRanges::Ticket arrival = InboundHostRanges::instance().begin_after_pending(host, range.size);
  const PendingReads::Ticket ticket = queue->pending_reads().begin();
  const TransferRef transfer = session.begin_receive(
      queue->device().index(), host, range.size,
      // `read` is kept: the failure of an event without references would become the queue's failure.
      [whole, read, kept = Ref<MemoryObject>(&memory), queue, ticket, arrival, range,
       writes = storage.writes_if_whole(range, queue->location()), &session](cl_int status) {
        InboundHostRanges::instance().end(arrival);
        if (status == CL_COMPLETE) note_host_copy(*kept, range, writes);
        queue->pending_reads().end(ticket);
        whole->release_hold(status);
        session.drop_interest();
      },
      memory.shared_storage());
  auto record = TransferPlanner::record_of(memory, range.size, &queue->device(), *queue, nullptr);
  if (record) {
    record->event = read->id();
    transfer->trace.record = record->id;
    if (TraceRecord* whole_record = command.record()) {
      record->waits = whole_record->waits;
      whole_record->waits_for(read->id());
    }
  }
  send_read(memory.root(), session, queue->id(), read->id(), range, transfer->id, command.wait_list(),
            Tracer::instance().commit(std::move(record)));
  return read;
}

}  // namespace

cl_int enqueue_migrate_to_host(CommandQueue& queue, std::span<MemoryObject* const> buffers, WaitList wait,
                               Event** event, cl_command_type type) {
  return submit(queue, MigrateToHostPlan{{}, type, buffers}, wait, event);
}

}  // namespace remotecl
