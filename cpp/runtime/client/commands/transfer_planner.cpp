#include "runtime/client/commands/transfer_planner.h"
#include "runtime/client/commands/memory_messages.h"

#include <algorithm>
#include <cstring>

#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/protocol/frames.h"

namespace remotecl {

namespace {

// Whether the command ends after all that its queue got before it.
bool ends_last(Event& event) {
  if (event.queue()->in_order()) return true;
  const EventDescription& command = event.description();
  return (command.type == CL_COMMAND_MARKER || command.type == CL_COMMAND_BARRIER) && command.waits.empty();
}

}  // namespace

TransferId send_write(CommandQueue& queue, EventId event, const MemoryObject& object, std::uint64_t offset,
                      std::byte* memory, std::uint64_t size, Array<EventId> wait_list, std::shared_ptr<void> keep_alive,
                      bool late, std::uint64_t record) {
  Session& session = queue.session();
  if (size <= kInlineDataMax && !late) {
    send_write(object, session, queue.id(), event, {offset, size}, 0, Bytes(memory, size), wait_list, record);
    return 0;
  }
  session.add_interest();
  const TransferRef transfer = session.begin_send(
      queue.device().index(), memory, size, [&session](cl_int) { session.drop_interest(); }, std::move(keep_alive));
  transfer->trace.record = record;
  send_write(object, session, queue.id(), event, {offset, size}, transfer->id, {}, wait_list, record);
  return transfer->id;
}

TransferPlanner::TransferPlanner(CommandQueue& queue) : queue_(queue), location_(queue.location()) {
  if (session().lost()) error_ = CL_DEVICE_NOT_AVAILABLE;
}

void TransferPlanner::waits_for(Event& event) {
  if (event.status() == CL_COMPLETE) return;
  if (Session* const server = event.session(); server != &session()) {
    const std::optional<bool> linked = server == nullptr ? false : session().group().links.linked(*server, session());
    if (!linked) needs_link({server, &session()});
    elsewhere_.push_back({Ref<Event>(&event), linked.value_or(false)});
    return;
  }
  wait_ids_.add(event.id());
}

Array<EventId> TransferPlanner::wait_list() {
  for (const auto& [event, is_linked] : elsewhere_) {
    event->announce_to(session(), is_linked);
    wait_ids_.add(event->id());
  }
  elsewhere_.clear();
  return wait_ids_.all();
}

const Event* TransferPlanner::take_write_event(const Site::User& user) {
  if (!user.writes.last_ends_last(*user.queue)) return nullptr;
  const auto at = std::ranges::find_if(given_, [&user](const Event* event) {
    return event->queue() == user.queue.get() && event->sequence() == user.writes.last && event->session() != nullptr;
  });
  if (at == given_.end()) return nullptr;
  // If a user event fails the writer, the transfer still has to bring what was there: others may need it.
  Event::Gates gates;
  if ((*at)->may_have_gates()) (*at)->add_gates_to(gates);
  if (!gates.empty()) return nullptr;
  std::erase_if(elsewhere_, [at](const Foreign& foreign) { return foreign.event.get() == *at; });
  return *at;
}

Event* TransferPlanner::find_later_event(const Site::User& user) const {
  const CommandQueue& queue = *user.queue;
  const auto at = std::ranges::find_if(given_, [&](Event* event) {
    return event->queue() == &queue && event->session() != nullptr && event->sequence() > user.writes.last &&
           ends_last(*event);
  });
  return at == given_.end() ? nullptr : *at;
}

EventId TransferPlanner::end_of_writers(const Site::User& user) {
  if (const Event* event = take_write_event(user)) return event->id();
  // The later command may fail without harm to the bytes.
  if (Event* const later = find_later_event(user)) return end_of_event(*later, true);
  return end_of_commands(*user.queue, user.writes);
}

void TransferPlanner::touches(MemoryObject& buffer, ByteRange range) {
  if (const auto& coherent = buffer.storage().coherent) [[unlikely]]
    coherent->before_use(buffer, range, queue_, sequence_);
  buffer.create_on(session());
  if (buffer.storage().residency.has_doubts()) [[unlikely]]
    buffer.storage().settle_doubts(range);
  if (record_ != nullptr) record_->uses(reinterpret_cast<std::uintptr_t>(buffer.handle()));
  const Site& site = buffer.storage().site(location_);
  if (!site.arrivals.empty() || site.outdated.size() != 0) buffer.storage().settle_arrivals(range);
}

void TransferPlanner::overwrites(MemoryObject& buffer, ByteRange range) {
  if (error_ != CL_SUCCESS) return;
  touches(buffer, range);
  const Site& site = buffer.storage().site(location_);
  site.arrivals.for_each(range, [this](const InboundTransfer& arrival) {
    const bool implied = arrival.awaited_by.get() == &queue_ && queue_.in_order();
    if (implied || waits_already(*arrival.event)) return;
    arrival.may_fail_alone ? waits_for_end(*arrival.event) : waits_for(*arrival.event);
    if (record_ != nullptr) record_->waits_for(arrival.event->id());
  });
}

// If the command waits for the transfer, it fails with it, and the bytes are what they were before.
void TransferPlanner::overwritten(BufferStorage& storage, ByteRange range) {
  Site& site = storage.site(location_);
  site.take_from_arrivals(range, [this](const InboundTransfer& arrival) { return !waits_already(*arrival.event); });
  site.used_by(queue_, sequence_, range, true, unneeded_);
}

void TransferPlanner::waits_for_end(Event& event) {
  if (event.ended()) return;
  Session* const server = event.session();
  if (server == &session()) return wait_ids_.add(end_of_event(event, false));
  const auto over = make_ref<Event>(Ref<Context>(&context()));
  if (!event.at_end([over] { over->complete(CL_COMPLETE); })) return;
  if (server != nullptr) server->submit_now();
  waits_for(*over);
}

void TransferPlanner::abandon() {
  for (const auto& [storage, range, event] : brought_) {
    storage->site(location_).arrivals.for_each(range, [event = event](InboundTransfer& arrival) {
      if (arrival.event.get() == event) arrival.awaited_by = nullptr;
    });
  }
}

void TransferPlanner::reads(MemoryObject& buffer, ByteRange range) {
  brings(buffer, range);
  last_read_ = {&buffer.storage(), range};
  if (error_ == CL_SUCCESS) buffer.storage().site(location_).used_by(queue_, sequence_, range, false, unneeded_);
}

void TransferPlanner::brings(MemoryObject& buffer, ByteRange range) {
  if (error_ != CL_SUCCESS) return;
  touches(buffer, range);
  BufferStorage& storage = buffer.storage();
  if (storage.has_limited_copies()) settle_limited_copies(buffer, range);
  const auto presence = storage.residency.presence(range, location_);
  if (presence == ResidencyDirectory::Presence::kMissing) fetch(buffer, range);
  rely_on(storage, range, location_, wait_ids_);
  // A transfer of other bytes may fail without harm.
  storage.site(location_).arrivals.for_each(range, [this](const InboundTransfer& arrival) {
    follows_large_transfer_ = follows_large_transfer_ || arrival.is_large;
    if (waits_already(*arrival.event)) return;
    waits_for(*arrival.event);
    if (record_ != nullptr) record_->waits_for(arrival.event->id());
  });
  if (presence == ResidencyDirectory::Presence::kHeld) session().group().fetched.in_place.add(range.size);
}

bool TransferPlanner::preserves(MemoryObject& buffer, ByteRange range) {
  if (error_ != CL_SUCCESS) return false;
  touches(buffer, range);
  std::vector<Missing> missing;
  buffer.storage().residency.missing(range, location_, missing);
  for (const Missing& part : missing) {
    if (possible_sources(buffer.storage(), part).empty()) return false;
  }
  brings(buffer, range);
  return true;
}

void TransferPlanner::rely_on(BufferStorage& storage, ByteRange range, Location at, EventIds& waits) {
  storage.residency.for_each_doubt(range, [&](const Doubt& each) {
    const auto& doubt = static_cast<const EventDoubt&>(each);
    if (!doubt.decides_at(at)) return;
    doubt.rely();
    waits.add(doubt.event->id());
  });
}

bool TransferPlanner::waits_for_doubt(const Missing& part) {
  if (!part.former) return true;
  const auto& doubt = static_cast<const EventDoubt&>(*part.former->doubt);
  if (doubt.kind == EventDoubt::Kind::kOverwrite) waits_for(*doubt.event);
  return error_ == CL_SUCCESS;
}

void TransferPlanner::fetch(MemoryObject& buffer, ByteRange range) {
  BufferStorage& storage = buffer.storage();
  storage.settle_arrivals(range);
  std::vector<Missing> missing;
  storage.residency.missing(range, location_, missing);
  MemoryObject& root = buffer.root();
  root.create_on(session());
  for (const Missing& part : missing) {
    TransferSource source{};
    if (!choose_source(storage, part, source)) return;
    switch (source.route) {
      case Route::kHost:
        if (!waits_for_doubt(part)) return;
        upload(root, part);
        break;
      case Route::kPeer:
        push(root, part, source);
        if (error_ != CL_SUCCESS) return;
        break;
      case Route::kSameServer:
        transfer(root, part, source.location);
        break;
      case Route::kClient:
        relay(root, part, source.location);
    }
  }
}

bool TransferPlanner::choose_source(BufferStorage& storage, const Missing& missing, TransferSource& chosen) {
  for (;;) {
    const std::vector<TransferSource> sources = possible_sources(storage, missing);
    if (sources.empty()) {
      error_ = CL_DEVICE_NOT_AVAILABLE;
      return false;
    }
    chosen = sources[cheapest_source(sources, missing.range.size)];
    if (chosen.route != Route::kPeer) return true;
    // Only now is the link needed: most of the possible ones never are.
    Session& holder = context().device_at(chosen.location).session();
    const std::optional<bool> linked = session().group().links.linked(holder, session());
    if (!linked) {
      needs_link({&holder, &session()});
      return false;
    }
    if (*linked) return true;
  }
}

std::vector<TransferSource> TransferPlanner::possible_sources(BufferStorage& storage, const Missing& missing) const {
  std::vector<TransferSource> sources;
  missing.holders.for_each([&](Location at) {
    kMemoryMutex.assume_held();  // by this function
    if (at == kHost) {
      const auto readers = static_cast<unsigned>(storage.host_readers.count());
      sources.push_back({kHost, Route::kHost, readers, 0, false});
      return;
    }
    Session& server = context().device_at(at).session();
    if (server.lost()) return;
    Route route = Route::kSameServer;
    if (&server != &session()) {
      route = session().group().links.can_connect(server, session()) ? Route::kPeer : Route::kClient;
    }
    unsigned hops = 0;
    bool held = false;
    const Site& site = storage.site(at);
    site.arrivals.for_each(missing.range, [&](const InboundTransfer& arrival) {
      hops = std::max(hops, arrival.hops);
      held = held || !arrival.is_prompt;
    });
    sources.push_back({at, route, server.sending(), hops, held, site.served(storage.writes)});
  });
  return sources;
}

EventId TransferPlanner::mark(CommandQueue& queue) {
  const auto& marker = held_.emplace_back(make_ref<Event>(queue, CL_COMMAND_MARKER, true, true));
  queue.session().send(EnqueueMarker{queue.id(), marker->id(), 0, 1, {}});
  return marker->id();
}

EventId TransferPlanner::end_of_event(CommandQueue& queue, EventId event, bool in_order) {
  const auto& end = held_.emplace_back(make_ref<Event>(queue, CL_COMMAND_MARKER, true, true));
  queue.session().send(ExpectEnd{end->id(), event, in_order ? 1u : 0u});
  return end->id();
}

EventId TransferPlanner::end_of_commands(CommandQueue& queue, Site::Commands commands) {
  const std::uint64_t newest = queue.last_sequence() - (&queue == &queue_ ? 1 : 0);  // the planned command has its own
  // A marker would come after what the queue has got since, too.
  if (commands.last < newest && commands.last_ends_last(queue)) {
    const EventId event = queue.event_of(commands.last, held_.emplace_back());
    if (event != 0) return end_of_event(queue, event, queue.in_order());
  }
  return mark(queue);
}

TraceRecordOwner TransferPlanner::record_of(MemoryObject& root, std::uint64_t size, Device* from, CommandQueue& queue,
                                            Device* to) {
  if (!Tracer::on()) return nullptr;
  auto record = Tracer::instance().make(queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, true);
  record->uses(reinterpret_cast<std::uintptr_t>(root.handle()));
  record->moves(size, from, to);
  return record;
}

// Large transfers bypass the command's queue, so that the data of the next command arrive while this one
// runs.
CommandQueue& TransferPlanner::receiver(std::uint64_t size) const {
  return size > kInlineDataMax ? context().transfer_queue(queue_.device()) : queue_;
}

// Bytes may be replaced once the commands that use the old ones have ended. Nothing else delays a transfer:
// neither what the command itself waits for nor the failure of an earlier command.
std::vector<EventId> TransferPlanner::after_users(MemoryObject& root, ByteRange range, const CommandQueue& receiver,
                                                  TraceRecord* record) {
  std::vector<EventId> after;
  root.storage().site(location_).arrivals.for_each(range, [&](const InboundTransfer& arrival) {
    // It brings outdated bytes, and no user waits for it.
    if (!arrival.awaited_by && !arrival.event->ended()) after.push_back(end_of_event(*arrival.event, false));
  });
  for (const Site::User& user : root.storage().site(location_).users) {
    if (!intersect(user.range, range)) continue;
    if (record != nullptr) record->waits_for(user.queue->id(), user.uses.last);
    const bool implied = user.queue.get() == &receiver && receiver.in_order();
    if (!implied && !user.uses.have_ended(*user.queue)) after.push_back(end_of_commands(*user.queue, user.uses));
  }
  return after;
}

// The events that must end before the bytes at a holder may be read. If the command itself waits for the end of the
// writer, the transfer waits for it in the command's place, which saves a message, a native marker and a
// signal.
std::vector<EventId> TransferPlanner::after_writers(MemoryObject& root, ByteRange range, Location at,
                                                    TraceRecord* record, const InboundTransfer* but) {
  const Site& holder = root.storage().site(at);
  EventIds doubted;
  rely_on(root.storage(), range, at, doubted);
  std::vector<EventId> written(doubted.all().begin(), doubted.all().end());
  for (const Site::User& user : holder.users) {
    if (!intersect(user.range, range)) continue;
    if (record != nullptr && user.writes.last != 0) record->waits_for(user.queue->id(), user.writes.last);
    if (user.writes.have_ended(*user.queue)) continue;
    written.push_back(end_of_writers(user));
  }
  holder.arrivals.for_each(range, [&](const InboundTransfer& arrival) {
    if (&arrival == but) return;
    written.push_back(arrival.event->id());
    if (record != nullptr) record->waits_for(arrival.event->id());
  });
  return written;
}

ObjectId TransferPlanner::limit_to_content(MemoryObject& buffer, ByteRange& range) {
  MemoryObject* const size = buffer.root().content_size_buffer();
  if (size == nullptr || error_ != CL_SUCCESS) return 0;
  BufferStorage& storage = size->storage();
  storage.settle_arrivals(kContentSize);
  if (!storage.residency.defined(kContentSize)) return 0;
  if (!storage.residency.valid(kContentSize, kHost)) {
    brings(*size, kContentSize);
    return size->id();
  }
  limit_to_known_content(buffer, range);
  return 0;
}

void TransferPlanner::limit_to_known_content(MemoryObject& buffer, ByteRange& range) {
  const MemoryObject* const size = buffer.root().content_size_buffer();
  if (size == nullptr) return;
  BufferStorage& storage = size->storage();
  if (!storage.residency.defined(kContentSize) || !storage.residency.valid(kContentSize, kHost)) return;
  std::uint64_t content = 0;
  std::memcpy(&content, storage.host(), sizeof content);
  range.size = std::min(range.size, content > range.offset ? content - range.offset : 0);
}

void TransferPlanner::settle_limited_copies(MemoryObject& buffer, ByteRange range) {
  const MemoryObject* const size = buffer.root().content_size_buffer();
  buffer.storage().settle_limited_copies(range, [size](const LimitedCopy& copy) {
    kMemoryMutex.assume_held();
    return size == nullptr || size->id() != copy.size || size->storage().writes != copy.size_writes;
  });
}

void TransferPlanner::copied(MemoryObject& root, ByteRange range, Location from, bool is_limited) {
  BufferStorage& storage = root.storage();
  storage.copied(range, from, location_);
  if (!is_limited) return;
  const MemoryObject& size = *root.content_size_buffer();
  storage.limited({range, size.id(), size.storage().writes}, location_);
}

}  // namespace remotecl
