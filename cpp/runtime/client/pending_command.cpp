#include "runtime/client/pending_command.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "runtime/client/peer_links.h"
#include "runtime/protocol/frames.h"

namespace remotecl {

void send_write(CommandQueue& queue, EventId event, const MemoryObject& object, std::uint64_t offset, std::byte* memory,
                std::uint64_t size, Array<EventId> wait_list, std::shared_ptr<void> keep_alive) {
  Session& session = queue.session();
  if (size <= kInlineDataMax) {
    object.send_write(session, queue.id(), event, {offset, size}, 0, Bytes(memory, size), wait_list);
    return;
  }
  session.add_interest();
  const TransferRef transfer = session.begin_send(
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
  if (wants_event) {
    event_ = make_ref<Event>(queue, type, true);
    if (queue.in_order() && !queue.pending_reads().none()) queue.pending_reads().hold(*event_);
  }
}

void PendingCommand::waits_for(Event& event) {
  if (event.status() == CL_COMPLETE) return;
  if (event.session() != &session()) event.announce_to(session());
  if (std::find(wait_ids_.begin(), wait_ids_.end(), event.id()) == wait_ids_.end()) wait_ids_.push_back(event.id());
}

void PendingCommand::touches(MemoryObject& buffer) {
  if (error_ != CL_SUCCESS) return;
  buffer.create_on(session());
  BufferStorage& storage = buffer.storage();
  Site& site = storage.site(location_);
  if (!site.arrivals.empty()) {
    storage.settle_arrivals();
    for (const Arrival& arrival : site.arrivals) waits_for(*arrival.event);
  }
}

void PendingCommand::reads(MemoryObject& buffer, ByteRange range) {
  touches(buffer);
  if (error_ != CL_SUCCESS) return;
  BufferStorage& storage = buffer.storage();
  if (!storage.residency.valid(range, location_)) fetch(buffer, range);
  storage.site(location_).used_by(queue_, false);
}

void PendingCommand::fetch(MemoryObject& buffer, ByteRange range) {
  BufferStorage& storage = buffer.storage();
  storage.settle_arrivals();
  std::vector<Missing> missing;
  storage.residency.missing(range, location_, missing);
  buffer.root().create_on(session());
  for (const Missing& transfer : missing) {
    const Location source = choose_source(transfer.holders);
    if (source == location_) {  // every holder is on a lost server
      error_ = CL_DEVICE_NOT_AVAILABLE;
      return;
    }
    if (source == kHost) {
      upload(buffer.root(), transfer);
    } else if (PeerLinks::instance().connected(queue_.context().device_at(source).session(), session())) {
      push(buffer.root(), transfer, source);
    } else {
      relay(buffer.root(), transfer, source);
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

// The end of everything that `queue` was given so far, however it ends.
EventId PendingCommand::mark(CommandQueue& queue) {
  const auto& marker = markers_.emplace_back(make_ref<Event>(queue, CL_COMMAND_MARKER, true));
  queue.session().send(EnqueueMarker{queue.id(), marker->id(), 0, 1, {}});
  return marker->id();
}

// Bytes may be replaced once the commands that use the old ones have ended; nothing else holds a transfer back, not
// what the command itself waits for, and not the failure of a command before.
std::vector<EventId> PendingCommand::after_users(MemoryObject& root) {
  std::vector<EventId> after;
  for (const Site::User& user : root.storage().site(location_).users) {
    const bool implied = user.queue.get() == &queue_ && queue_.in_order();
    if (!implied) after.push_back(mark(*user.queue));
  }
  return after;
}

void PendingCommand::upload(MemoryObject& root, const Missing& missing) {
  const std::vector<EventId> after = after_users(root);
  const auto arrival = make_ref<Event>(queue_, CL_COMMAND_WRITE_BUFFER, true, true);
  BufferStorage& storage = root.storage();
  const ByteRange range = missing.range;
  send_write(queue_, arrival->id(), root, range.offset, storage.host() + range.offset, range.size,
             std::span<const EventId>(after), root.shared_storage());
  if (range.size > kInlineDataMax) {
    arrival->reported_unasked();
    storage.host_readers.push_back(arrival);
  }
  arriving(root, missing, arrival);
}

// What has to end before the bytes at a holder may be read.
std::vector<EventId> PendingCommand::after_writers(MemoryObject& root, Location at) {
  const Site& holder = root.storage().site(at);
  std::vector<EventId> written;
  for (const Site::User& user : holder.users) {
    if (user.writes) written.push_back(mark(*user.queue));
  }
  for (const Arrival& arrival : holder.arrivals) written.push_back(arrival.event->id());
  return written;
}

// From a device of another server, which sends to this one: neither bytes nor events pass this process.
void PendingCommand::push(MemoryObject& root, const Missing& missing, Location from) {
  Device& source = queue_.context().device_at(from);
  CommandQueue& sender = queue_.context().transfer_queue(source);
  const TransferId transfer = next_id();
  const std::uint32_t is_image = root.image() != nullptr ? 1 : 0;
  const ByteRange range = missing.range;
  const std::vector<EventId> written = after_writers(root, from);
  source.session().send(EnqueueSend{sender.id(), 0, root.id(), is_image, range.offset, range.size, transfer,
                                    session().peer_id(), std::span<const EventId>(written)});
  source.session().flush();

  const std::vector<EventId> after = after_users(root);
  const auto arrival = make_ref<Event>(queue_, CL_COMMAND_MIGRATE_MEM_OBJECTS, true, true);
  arrival->report_is_awaited();
  session().send(EnqueueReceive{queue_.id(), arrival->id(), root.id(), is_image, range.offset, range.size, transfer,
                                source.session().peer_id(), std::span<const EventId>(after)});
  arriving(root, missing, arrival);
}

// From a device of this or another server through the client: a read there, a write here that waits for it.
void PendingCommand::relay(MemoryObject& root, const Missing& missing, Location from) {
  Device& source = queue_.context().device_at(from);
  CommandQueue& reader = queue_.context().transfer_queue(source);
  const ByteRange range = missing.range;
  const std::vector<EventId> written = after_writers(root, from);

  const std::shared_ptr<std::byte[]> memory(new std::byte[range.size]);
  const auto fetched = make_ref<Event>(reader, CL_COMMAND_READ_BUFFER, true);
  fetched->reported_unasked();
  fetched->add_hold();
  // On one server the read is over before its bytes are here: the write waits for an event of the client.
  const bool one_server = &source.session() == &session();
  const Ref<Event> arrived = one_server ? make_ref<Event>(Ref<Context>(&queue_.context())) : fetched;
  source.session().add_interest();
  const TransferRef transfer = source.session().begin_receive(
      memory.get(), range.size,
      [fetched, arrived, one_server, &session = source.session()](bool ok) {
        fetched->release_hold(ok);
        if (one_server) arrived->complete(ok ? CL_COMPLETE : CL_OUT_OF_RESOURCES);
        session.drop_interest();
      },
      memory);
  root.send_read(source.session(), reader.id(), fetched->id(), range, transfer->id, std::span<const EventId>(written));
  arrived->announce_to(session());
  source.session().flush();

  std::vector<EventId> after = after_users(root);
  after.push_back(arrived->id());
  const auto arrival = make_ref<Event>(queue_, CL_COMMAND_MIGRATE_MEM_OBJECTS, true, true);
  arrival->reported_unasked();
  session().add_interest();
  const TransferRef push = session().begin_send(
      memory.get(), range.size, [&session = session()](bool) { session.drop_interest(); }, memory);
  root.send_write(session(), queue_.id(), arrival->id(), range, push->id, {}, std::span<const EventId>(after));
  arriving(root, missing, arrival);
}

void PendingCommand::arriving(MemoryObject& root, const Missing& missing, const Ref<Event>& arrival) {
  BufferStorage& storage = root.storage();
  storage.residency.add_holder(missing.range, location_);
  storage.site(location_).arrivals.push_back({arrival, missing.range, missing.holders});
  waits_for(*arrival);
}

void PendingCommand::record_writes() {
  for (const Write& write : writes_) {
    BufferStorage& storage = write.buffer->storage();
    storage.residency.write(write.range, location_);
    ++storage.writes;
    storage.site(location_).used_by(queue_, true);
  }
}

}  // namespace remotecl
