#include "runtime/client/commands/pending_command.h"

#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/command_order.h"
#include "runtime/client/support/inbound_host_ranges.h"

namespace remotecl {

PendingCommand::PendingCommand(CommandQueue& queue, cl_command_type type, WaitList wait, bool wants_event)
    : queue_(queue), lock_(queue.context().memory_mutex()), planner_(queue) {
  if (error() != CL_SUCCESS) return;
  if (Tracer::on()) [[unlikely]]
    make_record(type, wait);
  const std::shared_ptr<CommandOrder> order = CoherentHostMemory::order(queue.context());
  // Only its event reports the end of a command of an out-of-order queue.
  if (order && !queue.in_order()) wants_event = true;
  planner_.set_given(wait);
  if (!wait.empty()) queue.waits_for_others();
  for (Event* event : wait) {
    waits_for(*event);
    if (error() != CL_SUCCESS) return;
    if (event->is_held()) await_bytes(*event);
    if (event->may_have_gates()) [[unlikely]]
      event->add_gates_to(gates_);
  }
  if (queue.returned_writes().has_before.load()) [[unlikely]] {
    returned_writes_ = queue.context().returned_writes().before(queue);
    for (const Ref<Event>& write : returned_writes_) planner_.waits_for(*write);
  }
  if (wants_event) {
    event_ = make_ref<Event>(queue, type, true);
    event_->set_gates(gates_);
    if (!wait.empty()) {
      std::vector<EventId>& waits = event_->description().waits;
      for (const Event* event : wait) waits.push_back(event->id());
    }
    PendingReads& reads = queue.pending_reads();
    if (!reads.none()) queue.in_order() ? reads.hold(*event_) : reads.hold(*event_, awaited_);
  }
  if (queue.in_order() && queue.may_be_gated()) [[unlikely]]
    gated_ = queue.gated();
  sequence_ = event_ ? event_->sequence() : queue.next_sequence();
  planner_.set_sequence(sequence_);
  if (order) [[unlikely]] {
    for (Event* event : wait) order->add(queue, sequence_, event_.get(), *event);
  }
}

PendingCommand::~PendingCommand() {
  if (!lock_.owns_lock()) return;
  planner_.abandon();
  lock_.unlock();  // before the planner releases what it holds
}

void PendingCommand::make_record(cl_command_type type, WaitList wait) {
  record_ = Tracer::instance().make(queue_, type, false);
  for (const Event* event : wait) record_->waits_for(event->id());
  planner_.set_record(record_.get());
}

std::uint64_t PendingCommand::commit_record() {
  return record_ == nullptr ? 0 : Tracer::instance().commit(take_record());
}

TraceRecordOwner PendingCommand::take_record() {
  if (record_->event == 0) record_->event = event_id();
  record_->position = sequence_;
  planner_.set_record(nullptr);
  return std::move(record_);
}

// The server continues once it has read the bytes; the application must wait until they have arrived.
void PendingCommand::await_bytes(Event& event) {
  const PendingReads::Ticket ticket = queue_.pending_reads().begin();
  const auto end = [queue = Ref<CommandQueue>(&queue_), ticket] {
    queue->pending_reads().end(ticket);
    queue->session().wake();  // the bytes may have been read by another session's thread
  };
  if (event.at_end(end)) {
    awaited_.push_back(ticket);
  } else {
    end();
  }
}

bool PendingCommand::touches_host(const std::byte* memory, std::uint64_t size) {
  if (InboundHostRanges::instance().none()) return false;
  const auto there = make_ref<Event>(Ref<Context>(&queue_.context()));
  const auto arrived = [there] { there->complete(CL_COMPLETE); };
  if (!InboundHostRanges::instance().when_there(memory, size, arrived)) return false;
  waits_for(*there);
  return true;
}

void PendingCommand::waits_for_host_readers(BufferStorage& storage) {
  for (const Ref<Event>& reader : storage.host_readers.unended()) {
    if (reader->session() == &session() || reader->is_user_event()) {
      waits_for(*reader);
      continue;
    }
    // Another server may get lost meanwhile. It is enough that it no longer reads, so any end will do.
    planner_.waits_for_end(*reader);
  }
}

void PendingCommand::waits_for_all() {
  if (event_ && !queue_.in_order()) queue_.pending_reads().hold(*event_);
  if (queue_.in_order()) return;
  queue_.waits_for_others();
  if (const auto order = CoherentHostMemory::order(queue_.context())) [[unlikely]]
    order->add_all_before(queue_, sequence_, event_.get());
}

void PendingCommand::is_barrier(bool for_all) {
  PendingReads& reads = queue_.pending_reads();
  if (queue_.in_order() || reads.none()) return;
  for_all ? reads.barrier() : reads.barrier(awaited_);
}

void PendingCommand::writes(MemoryObject& buffer, ByteRange range) {
  if (buffer.network_device() != nullptr) [[unlikely]]
    return planner_.refuse(CL_INVALID_OPERATION);
  BufferStorage& storage = buffer.storage();
  const bool has_read = planner_.has_read(storage, range) || (!gates_.empty() && planner_.preserves(buffer, range));
  planner_.overwrites(buffer, range);
  Ref<EventDoubt> doubt;
  if (!has_read) {
    if (!storage.is_certain(range, queue_.location())) doubt = doubt_of(EventDoubt::Kind::kOverwrite);
  } else if ((!gates_.empty() || gated_) && storage.residency.is_held_elsewhere(range, queue_.location())) {
    doubt = doubt_of(EventDoubt::Kind::kRewrite);
  }
  writes_.push_back({&buffer, range, has_read, std::move(doubt)});
}

const Ref<Event>& PendingCommand::deciding_event() {
  if (event_) return event_;
  if (own_event_) return own_event_;
  own_event_ = make_ref<Event>(queue_, CL_COMMAND_MARKER, true, true);
  own_event_->set_gates(gates_);
  own_event_->report_failure_to_queue();
  return own_event_;
}

Ref<EventDoubt> PendingCommand::doubt_of(EventDoubt::Kind kind) {
  const bool is_only_behind = kind == EventDoubt::Kind::kRewrite && gates_.empty();
  return make_ref<EventDoubt>(kind, queue_.location(), is_only_behind ? gated_ : deciding_event(), sequence_, gated_);
}

void PendingCommand::record_writes() {
  if (writes_.empty()) return;
  for (const Write& write : writes_) {
    BufferStorage& storage = write.buffer->storage();
    storage.written(write.range, queue_, write.has_read, write.doubt);
    planner_.overwritten(storage, write.range);
    if (storage.coherent) [[unlikely]]
      storage.coherent->written(queue_, sequence_, event_.get(), write.range);
  }
}

}  // namespace remotecl
