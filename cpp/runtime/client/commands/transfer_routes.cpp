// How bytes get to the device: from this process, from server to server, or through this process.
#include <memory>

#include "runtime/client/commands/memory_messages.h"
#include "runtime/client/commands/transfer_planner.h"
#include "runtime/client/objects/image_parts.h"
#include "runtime/client/session/operations.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// Measures how fast the bytes pass from server to server. They begin to move now.
void measure(Session& sending, Session& receiving, Event& arrival, std::uint64_t size) {
  receiving.peer_meters().begin(sending.peer_id());
  const auto end = [sender = sending.peer_id(), &receiving, &arrival, size] {
    receiving.peer_meters().end(sender, arrival.status() < 0 ? 0 : size);
  };
  if (!arrival.at_end(end)) end();
}

}  // namespace

void TransferPlanner::upload(MemoryObject& root, const Missing& missing) {
  ByteRange range = missing.range;
  limit_to_known_content(root, range);
  if (range.size == 0) return copied(root, missing.range, kHost, true);
  session().group().fetched.from_host.add(range.size);
  CommandQueue& to = receiver(range.size);
  auto record = record_of(root, range.size, nullptr, to, &to.device());
  const std::vector<EventId> after = after_users(root, range, to, record.get());
  const auto arrival = make_ref<Event>(to, CL_COMMAND_WRITE_BUFFER, true, true);
  if (record) record->event = arrival->id();
  BufferStorage& storage = root.storage();
  const TransferId transfer = send_write(to, arrival->id(), root, range.offset, storage.host() + range.offset,
                                         range.size, std::span<const EventId>(after), root.shared_storage(), false,
                                         Tracer::instance().commit(std::move(record)));
  if (range.size > kInlineDataMax) {
    arrival->reported_unasked();
    storage.host_readers.add(arrival);
  }
  arriving(root, missing, kHost,
           {.event = arrival,
            .range = missing.range,
            .holders_before = missing.holders,
            .is_prompt = after.empty(),
            .is_large = range.size > kInlineDataMax,
            .transfer = transfer},
           range != missing.range);
}

// A transfer that still brings exactly these bytes to the location, from where they can be sent on as they come; or
// null.
const InboundTransfer* TransferPlanner::followed_at(BufferStorage& storage, Location from, ByteRange range) {
  const InboundTransfer* followed = nullptr;
  storage.site(from).arrivals.for_each(range, [&](const InboundTransfer& arrival) {
    kMemoryMutex.assume_held();
    const bool is_newest = arrival.writes == storage.writes;
    if (arrival.transfer != 0 && arrival.range == range && is_newest) followed = &arrival;
  });
  return followed;
}

// From a device of another server, which sends directly to this one: neither bytes nor events pass through
// this process.
void TransferPlanner::push(MemoryObject& root, const Missing& missing, const TransferSource& chosen) {
  const Location from = chosen.location;
  Device& source = context().device_at(from);
  ByteRange range = missing.range;
  TransferPlanner& at_source =
      *sources_.emplace_back(std::make_unique<TransferPlanner>(context().transfer_queue(source)));
  const bool may_be_limited = range.size > kInlineDataMax;
  const ObjectId content_size = may_be_limited ? at_source.limit_to_content(root, range) : 0;
  if (at_source.missing_link_) return needs_link(*at_source.missing_link_);
  if (at_source.error_ != CL_SUCCESS) return refuse(at_source.error_);
  if (range.size == 0) return copied(root, missing.range, from, true);
  session().group().fetched.between_servers.add(range.size);
  BufferStorage& storage = root.storage();
  storage.site(from).serves(storage.writes);
  Push push{at_source.queue_, receiver(range.size), range, content_size};
  push.followed = content_size == 0 ? followed_at(storage, from, range) : nullptr;
  auto record = record_of(root, range.size, &source, push.receiver, &push.receiver.device());
  push.written = after_writers(root, range, from, record.get(), push.followed);
  if (content_size != 0) {
    for (const EventId event : after_writers(*root.content_size_buffer(), kContentSize, from, record.get())) {
      push.written.push_back(event);
    }
  }
  push.after = after_users(root, range, push.receiver, record.get());
  push.arrival = make_ref<Event>(push.receiver, CL_COMMAND_MIGRATE_MEM_OBJECTS, true, true);
  if (record) record->event = push.arrival->id();
  send(root, push, Tracer::instance().commit(std::move(record)));
  observe(push);
  const bool is_limited = content_size != 0 || range != missing.range;
  arriving(root, missing, from,
           {.event = push.arrival,
            .range = missing.range,
            .holders_before = missing.holders,
            .is_prompt = push.after.empty(),
            .is_large = push.is_large(),
            .hops = chosen.hops + 1,
            .transfer = !is_limited && push.is_large() ? push.transfer : 0,
            .may_fail_alone = true},
           is_limited);
}

// The sending server's command, and the receiving one's.
void TransferPlanner::send(MemoryObject& root, const Push& push, std::uint64_t traced) {
  Tracer& tracer = Tracer::instance();
  Session& sending = push.sender.session();
  const std::uint32_t is_image = root.image() != nullptr ? 1 : 0;
  const ByteRange range = push.range;
  EnqueueSend message{push.sender.id(),
                      0,
                      root.id(),
                      is_image,
                      range.offset,
                      range.size,
                      push.transfer,
                      session().peer_id(),
                      std::span<const EventId>(push.written),
                      push.content_size};
  if (push.followed != nullptr) {
    message.followed = push.followed->transfer;
    message.followed_event = push.followed->event->id();
  }
  tracer.send(sending, traced, message, true);
  sending.submit_now();

  push.arrival->report_is_awaited(push.is_large() && push.content_size == 0);
  tracer.send(session(), traced,
              EnqueueReceive{push.receiver.id(), push.arrival->id(), root.id(), is_image, range.offset, range.size,
                             push.transfer, sending.peer_id(), std::span<const EventId>(push.after),
                             push.content_size != 0 ? 1u : 0u});
}

// Comes after the command, because at_end() may ask the server for the event, and the server takes an unknown event for
// one that has ended.
void TransferPlanner::observe(const Push& push) {
  Session& sending = push.sender.session();
  const std::uint64_t size = push.range.size;
  if (size >= Operations::kTransferSizeMin) {
    const std::string where = sending.address().text() + " to " + session().address().text();
    const auto seen = std::make_shared<Operations::Running>(session().group().operations,
                                                            Operation::Kind::kBetweenServers, where, size);
    push.arrival->at_end([seen] {});
  }
  if (push.is_large()) {
    sending.begin_sending();
    if (!push.arrival->at_end([&sending] { sending.end_sending(); })) sending.end_sending();
  }
  const bool begins_now =
      push.written.empty() && push.after.empty() && push.followed == nullptr && push.content_size == 0;
  if (begins_now && size >= LinkMeter::kBytesMin) measure(sending, session(), *push.arrival, size);
}

// From another device of the same server.
void TransferPlanner::transfer(MemoryObject& root, const Missing& missing, Location from) {
  ByteRange range = missing.range;
  limit_to_known_content(root, range);
  if (range.size == 0) return copied(root, missing.range, from, true);
  session().group().fetched.within_server.add(range.size);
  CommandQueue& to = receiver(range.size);
  auto record = record_of(root, range.size, &context().device_at(from), to, &to.device());
  std::vector<EventId> waits = after_writers(root, range, from, record.get());
  for (const EventId event : after_users(root, range, to, record.get())) waits.push_back(event);
  const auto arrival = make_ref<Event>(to, CL_COMMAND_MIGRATE_MEM_OBJECTS, true, true);
  arrival->report_is_awaited();
  if (record) record->event = arrival->id();
  Tracer& tracer = Tracer::instance();
  tracer.send(
      session(), tracer.commit(std::move(record)),
      EnqueueTransfer{to.id(), arrival->id(), root.id(), root.image() != nullptr ? 1u : 0u,
                      context().device_at(from).index(), range.offset, range.size, std::span<const EventId>(waits)});
  // The other device may still be getting them from another server.
  arriving(root, missing, from,
           {.event = arrival,
            .range = missing.range,
            .holders_before = missing.holders,
            .is_prompt = false,
            .is_large = range.size > kInlineDataMax,
            .may_fail_alone = true},
           range != missing.range);
}

// The first one is the largest.
std::vector<ByteRange> TransferPlanner::relay_pieces(const MemoryObject& root, ByteRange range) {
  if (root.image() != nullptr) return parts_of(root.image()->shape, kRelayPieceSize);
  std::vector<ByteRange> pieces;
  for (std::uint64_t done = 0; done < range.size; done += kRelayPieceSize) {
    pieces.push_back({range.offset + done, std::min(kRelayPieceSize, range.size - done)});
  }
  return pieces;
}

// From a device of another server through this process, if the two servers cannot reach each other: reads
// there, and writes here that wait for the reads. A few pieces are in this process's memory at a time: a read
// that reuses a piece's memory waits until that piece has been sent.
void TransferPlanner::relay(MemoryObject& root, const Missing& missing, Location from) {
  const std::vector<ByteRange> pieces = relay_pieces(root, missing.range);
  const std::uint64_t piece_size = pieces.front().size, slots = std::min<std::uint64_t>(pieces.size(), kRelayPiecesMax);
  const std::shared_ptr<std::byte[]> memory(new std::byte[slots * piece_size]);
  session().group().fetched.through_client.add(missing.range.size);

  std::vector<Ref<Event>> sent, parts;
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    const std::shared_ptr<std::byte[]> slot(memory, memory.get() + i % slots * piece_size);
    Event* const slot_free = i < slots ? nullptr : sent[i - slots].get();
    const Ref<Event> fetched = relay_read(root, pieces[i], from, slot, slot_free);
    sent.push_back(make_ref<Event>(Ref<Context>(&context())));
    parts.push_back(relay_write(root, pieces[i], slot, *fetched, sent.back()));
  }
  Ref<Event> arrival = parts.front();
  if (parts.size() > 1) {
    std::vector<EventId> ends;
    ends.reserve(parts.size());
    for (const Ref<Event>& part : parts) ends.push_back(part->id());
    arrival = make_ref<Event>(queue_, CL_COMMAND_MIGRATE_MEM_OBJECTS, true, true);
    session().append(EnqueueMarker{queue_.id(), arrival->id(), 0, 0, std::span<const EventId>(ends)});
    // `parts` is kept: the failure of an event without references would become the queue's failure.
    arrival->at_end([parts] {});
  }
  arriving(root, missing, from,
           {.event = arrival,
            .range = missing.range,
            .holders_before = missing.holders,
            .is_prompt = false,
            .is_large = missing.range.size > kInlineDataMax,
            .may_fail_alone = true});
}

// `slot_free` ends when the piece's memory is free; null if it is free already.
Ref<Event> TransferPlanner::relay_read(MemoryObject& root, ByteRange piece, Location from,
                                       const std::shared_ptr<std::byte[]>& slot, Event* slot_free) {
  Session& holder = context().device_at(from).session();
  CommandQueue& reader = context().transfer_queue(context().device_at(from));
  auto record = record_of(root, piece.size, &reader.device(), reader, nullptr);
  std::vector<EventId> after = after_writers(root, piece, from, record.get());
  if (slot_free != nullptr) {
    slot_free->announce_to(holder, false);
    after.push_back(slot_free->id());
  }
  auto fetched = make_ref<Event>(reader, CL_COMMAND_READ_BUFFER, true);
  fetched->reported_unasked();
  fetched->add_hold();
  holder.add_interest();
  const TransferRef read = holder.begin_receive(
      reader.device().index(), slot.get(), piece.size,
      [fetched, &holder](cl_int status) {
        fetched->release_hold(status);
        holder.drop_interest();
      },
      slot);
  if (record) {
    record->event = fetched->id();
    read->trace.record = record->id;
  }
  send_read(root, holder, reader.id(), fetched->id(), piece, read->id, std::span<const EventId>(after),
            Tracer::instance().commit(std::move(record)));
  fetched->announce_to(session(), false);
  holder.submit_now();
  return fetched;
}

// `sent` ends when the piece's memory is free again.
Ref<Event> TransferPlanner::relay_write(MemoryObject& root, ByteRange piece, const std::shared_ptr<std::byte[]>& slot,
                                        Event& fetched, const Ref<Event>& sent) {
  auto record = record_of(root, piece.size, nullptr, queue_, &queue_.device());
  std::vector<EventId> after = after_users(root, piece, queue_, record.get());
  after.push_back(fetched.id());
  auto part = make_ref<Event>(queue_, CL_COMMAND_MIGRATE_MEM_OBJECTS, true, true);
  if (record) {
    record->event = part->id();
    record->waits_for(fetched.id());
  }
  part->reported_unasked();
  session().add_interest();
  const TransferRef write = session().begin_send(
      queue_.device().index(), slot.get(), piece.size,
      [sent, &session = session()](cl_int status) {
        sent->complete(status);
        session.drop_interest();
      },
      slot);
  write->trace.record = Tracer::instance().commit(std::move(record));
  send_write(root, session(), queue_.id(), part->id(), piece, write->id, {}, std::span<const EventId>(after),
             write->trace.record);
  return part;
}

void TransferPlanner::arriving(MemoryObject& root, const Missing& missing, Location from, InboundTransfer arrival,
                               bool is_limited) {
  BufferStorage& storage = root.storage();
  copied(root, missing.range, from, is_limited);
  arrival.writes = storage.writes;
  arrival.former = missing.former;
  waits_for(*arrival.event);
  if (record_ != nullptr) record_->waits_for(arrival.event->id());
  arrival.awaited_by = Ref<CommandQueue>(&queue_);
  brought_.push_back({&storage, arrival.range, arrival.event.get()});
  storage.arriving(std::move(arrival), location_);
}

}  // namespace remotecl
