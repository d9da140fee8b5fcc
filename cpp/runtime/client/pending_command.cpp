#include "runtime/client/pending_command.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// Calls f(event) for those that have not ended yet and forgets the others. A failed one is kept: its dependents must
// fail too.
template <class F>
void for_each_pending(std::vector<Ref<Event>>& events, F&& f) {
  std::erase_if(events, [](const Ref<Event>& event) { return event->status() == CL_COMPLETE; });
  for (const Ref<Event>& event : events) f(*event);
}

}  // namespace

void send_write(CommandQueue& queue, EventId event, const MemoryObject& object, std::uint64_t offset, std::byte* memory,
                std::uint64_t size, Array<EventId> wait_list, std::shared_ptr<void> keep_alive) {
  Session& session = queue.session();
  if (size <= kInlineDataMax) {
    object.send_write(session, queue.id(), event, {offset, size}, 0, Bytes(memory, size), wait_list);
    return;
  }
  session.add_interest();
  const TransferRef transfer = session.begin_transfer(
      memory, size, [&session](bool) { session.drop_interest(); }, std::move(keep_alive));
  object.send_write(session, queue.id(), event, {offset, size}, transfer->id, {}, wait_list);
}

PendingCommand::PendingCommand(CommandQueue& queue, cl_command_type type, WaitList wait, bool wants_event)
    : queue_(queue), location_(queue.context().location(queue.device())), lock_(queue.context().memory_mutex()) {
  if (session().lost()) {
    error_ = CL_DEVICE_NOT_AVAILABLE;
    return;
  }
  for (Event* event : wait) waits_for(*event);
  if (wants_event) event_ = make_ref<Event>(queue, type, true);
}

void PendingCommand::waits_for(Event& event) {
  if (event.status() == CL_COMPLETE) return;
  if (event.session() != &session()) event.announce_to(session());
  if (std::find(wait_ids_.begin(), wait_ids_.end(), event.id()) == wait_ids_.end()) wait_ids_.push_back(event.id());
}

void PendingCommand::touches(MemoryObject& buffer) {
  if (error_ != CL_SUCCESS) return;
  buffer.create_on(session());
  auto& arrivals = buffer.storage().arrivals;
  if (arrivals.empty()) return;
  const auto at = arrivals.find(location_);
  if (at != arrivals.end()) for_each_pending(at->second, [this](Event& event) { waits_for(event); });
}

void PendingCommand::reads(MemoryObject& buffer, ByteRange range) {
  touches(buffer);
  if (error_ != CL_SUCCESS) return;
  const ResidencyDirectory& residency = buffer.storage().residency;
  if (residency.valid(range, location_)) return;
  std::vector<ResidencyDirectory::Transfer> missing;
  residency.missing(range, location_, missing);
  buffer.root().create_on(session());
  for (const auto& transfer : missing) {
    const Location source = choose_source(transfer.holders);
    if (source == location_) {  // every holder is on a lost server
      error_ = CL_DEVICE_NOT_AVAILABLE;
      return;
    }
    if (source == kHost) {
      upload(buffer.root(), transfer.range);
    } else {
      relay(buffer.root(), transfer.range, source);
    }
  }
}

void PendingCommand::writes(MemoryObject& buffer, ByteRange range) {
  touches(buffer);
  writes_.push_back({&buffer, range});
}

Location PendingCommand::choose_source(std::uint64_t holders) const {
  if ((holders & 1) != 0) return kHost;
  for (; holders != 0; holders &= holders - 1) {
    const auto location = static_cast<Location>(std::countr_zero(holders));
    if (!queue_.context().device_at(location).session().lost()) return location;
  }
  return location_;
}

void PendingCommand::upload(MemoryObject& root, ByteRange range) {
  const auto arrival = make_ref<Event>(queue_, CL_COMMAND_WRITE_BUFFER, true);
  BufferStorage& storage = root.storage();
  send_write(queue_, arrival->id(), root, range.offset, storage.host() + range.offset, range.size, wait_list(),
             root.shared_storage());
  if (range.size > kInlineDataMax) {
    arrival->reported_unasked();
    storage.host_readers.push_back(arrival);
  }
  arriving(root, range, arrival);
}

// From a device of this or another server through the client: a read there, a write here that waits for it. Servers
// that push to each other will take the place of the memory in between and leave the rest as it is.
void PendingCommand::relay(MemoryObject& root, ByteRange range, Location from) {
  Device& source = queue_.context().device_at(from);
  CommandQueue& reader = queue_.context().transfer_queue(source);
  BufferStorage& storage = root.storage();
  std::vector<EventId> after;
  std::vector<Ref<Event>> markers;  // held until the read that names them has been sent
  for (const Ref<CommandQueue>& writer : storage.writers[from]) {
    const auto& written = markers.emplace_back(make_ref<Event>(*writer, CL_COMMAND_MARKER, true));
    source.session().send(EnqueueMarker{writer->id(), written->id(), 0, 1, {}});
    after.push_back(written->id());
  }
  for_each_pending(storage.arrivals[from], [&](Event& event) { after.push_back(event.id()); });

  const std::shared_ptr<std::byte[]> memory(new std::byte[range.size]);
  const auto fetched = make_ref<Event>(reader, CL_COMMAND_READ_BUFFER, true);
  fetched->reported_unasked();
  fetched->add_hold();
  source.session().add_interest();
  const TransferRef transfer = source.session().begin_transfer(
      memory.get(), range.size,
      [fetched, &session = source.session()](bool ok) {
        fetched->release_hold(ok);
        session.drop_interest();
      },
      memory);
  root.send_read(source.session(), reader.id(), fetched->id(), range, transfer->id, std::span<const EventId>(after));
  fetched->announce_to(session());
  source.session().flush();

  const auto arrival = make_ref<Event>(queue_, CL_COMMAND_MIGRATE_MEM_OBJECTS, true);
  arrival->reported_unasked();
  std::vector<EventId> wait_ids = wait_ids_;
  wait_ids.push_back(fetched->id());
  session().add_interest();
  const TransferRef push = session().begin_transfer(
      memory.get(), range.size, [&session = session()](bool) { session.drop_interest(); }, memory);
  root.send_write(session(), queue_.id(), arrival->id(), range, push->id, {}, std::span<const EventId>(wait_ids));
  arriving(root, range, arrival);
}

void PendingCommand::arriving(MemoryObject& root, ByteRange range, const Ref<Event>& arrival) {
  root.storage().residency.add_holder(range, location_);
  root.storage().arrivals[location_].push_back(arrival);
  waits_for(*arrival);
}

void PendingCommand::record_writes() {
  for (const Write& write : writes_) {
    BufferStorage& storage = write.buffer->storage();
    storage.residency.write(write.range, location_);
    ++storage.writes;
    auto& writers = storage.writers[location_];
    const auto same = [this](const Ref<CommandQueue>& queue) { return queue.get() == &queue_; };
    if (std::none_of(writers.begin(), writers.end(), same)) writers.push_back(Ref<CommandQueue>(&queue_));
  }
}

}  // namespace remotecl
