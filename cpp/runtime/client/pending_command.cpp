#include "runtime/client/pending_command.h"

namespace remotecl {

PendingCommand::PendingCommand(CommandQueue& queue, cl_command_type type, WaitList wait, bool wants_event)
    : queue_(queue), lock_(queue.context().memory_mutex()), fetcher_(queue) {
  if (error() != CL_SUCCESS) return;
  for (Event* event : wait) waits_for(*event);
  if (wants_event) {
    event_ = make_ref<Event>(queue, type, true);
    if (queue.in_order() && !queue.pending_reads().none()) queue.pending_reads().hold(*event_);
  }
  sequence_ = event_ ? event_->sequence() : queue.next_sequence();
  fetcher_.set_sequence(sequence_);
}

void PendingCommand::writes(MemoryObject& buffer, ByteRange range) {
  touches(buffer);
  writes_.push_back({&buffer, range});
}

void PendingCommand::record_writes() {
  if (writes_.empty()) return;
  const Location location = queue_.context().location(queue_.device());
  for (const Write& write : writes_) {
    BufferStorage& storage = write.buffer->storage();
    storage.residency.write(write.range, location);
    ++storage.writes;
    storage.site(location).used_by(queue_, sequence_, true);
  }
}

}  // namespace remotecl
