// Reads and writes of buffers, plain and rectangular.
#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/client/commands/transfer_plans.h"
#include "runtime/client/support/inbound_host_ranges.h"

namespace remotecl {
namespace {

// A call that may return early needs an event for the rest of its work.
OptionalDeadline limit_of(const Event* event) { return event == nullptr ? OptionalDeadline() : WaitLimit::deadline(); }

// The result of a blocking call whose command has ended.
cl_int outcome(CommandQueue& queue, const TransferRef& transfer, const Event* event) {
  const bool moved = transfer->state.load() == Transfer::State::kDone;
  if (moved && (event == nullptr || event->status() >= 0)) return CL_SUCCESS;
  if (queue.session().lost()) return CL_DEVICE_NOT_AVAILABLE;
  if (event != nullptr) return moved ? event->status() : transfer->failure;
  const cl_int first = queue.take_failure();
  return first != CL_SUCCESS ? first : transfer->failure;
}

// Registers the destination of a read. Finally the bytes are in `span` bytes at `memory`, to where `then`
// moves them after their arrival.
TransferRef expect_at(PendingCommand& command, bool blocking, std::byte* to, std::uint64_t size,
                      std::shared_ptr<void> keep_alive, const std::byte* memory, std::uint64_t span,
                      std::function<void()> then = {}) {
  command.touches_host(memory, span);
  const InboundHostRanges::Ticket arrival = InboundHostRanges::instance().begin(memory, span);
  Ref<Event> event(command.event());
  if (event) {
    event->add_hold();
    event->reported_unasked();
  }
  Session& session = command.session();
  if (!blocking) session.add_interest();
  Ref<CommandQueue> queue(&command.queue());
  const PendingReads::Ticket ticket = queue->pending_reads().begin();
  const std::uint64_t sequence = queue->last_sequence();
  const auto finished = [event, queue, ticket, arrival, sequence, blocking, &session,
                         then = std::move(then)](cl_int status) {
    const bool ok = status == CL_COMPLETE;
    if (ok && then) then();
    InboundHostRanges::instance().end(arrival);
    if (ok && queue->in_order()) queue->ended_up_to(sequence);
    queue->pending_reads().end(ticket);
    if (event) event->release_hold(status);
    if (!blocking) session.drop_interest();
  };
  TransferRef transfer = session.begin_receive(queue->device().index(), to, size, finished, std::move(keep_alive));
  transfer->ticket = ticket;
  transfer->trace = command.record_id();
  command.moves(size, &queue->device(), nullptr);
  return transfer;
}

TransferRef offer_bytes(PendingCommand& command, bool blocking, const std::byte* from, std::uint64_t size,
                        std::shared_ptr<void> keep_alive) {
  Session& session = command.session();
  if (Event* event = command.event()) event->reported_unasked();
  std::function<void(cl_int)> finished;
  if (!blocking) {
    session.add_interest();
    finished = [&session](cl_int) { session.drop_interest(); };
  }
  const bool sender_waits = blocking && !limit_of(command.event());
  return session.begin_send(command.queue().device().index(), from, size, std::move(finished), std::move(keep_alive),
                            sender_waits);
}

// The same for bytes that are sent without a request. Returns null if the server must request them.
TransferRef push_bytes(PendingCommand& command, const std::byte* from, std::uint64_t size) {
  const bool sender_waits = !limit_of(command.event());
  TransferRef transfer = command.session().begin_push(command.queue().device().index(), from, size, sender_waits);
  if (transfer && command.event() != nullptr) command.event()->reported_unasked();
  return transfer;
}

std::uint64_t volume(const Extent& region) { return region[0] * region[1] * region[2]; }

bool is_packed(const Rectangle& rectangle, const Extent& region) { return rectangle.extent(region) == volume(region); }

// Packed rows as a rectangle.
Rectangle packed(const Extent& rows) { return {{}, rows[0], rows[0] * rows[1]}; }

struct ReadPlan : Plan {
  cl_command_type type;
  bool blocking;
  MemoryObject& buffer;
  std::uint64_t offset, size;
  std::byte* to;
  std::shared_ptr<void> keep_alive;
  TransferRef transfer{};

  void uses(auto& uses) const { uses.reads(buffer, buffer.range(offset, size)); }
  cl_int send(PendingCommand& command) {
    ByteRange range = buffer.range(offset, size);
    const ObjectId content_size = size > kInlineDataMax ? command.limit_to_content(buffer, range) : 0;
    if (command.error() != CL_SUCCESS) return command.error();
    const std::uint64_t expected = std::max<std::uint64_t>(range.size, 1);  // empty reads do not exist
    transfer = expect_bytes(command, blocking, to, expected, std::move(keep_alive));
    EnqueueRead message{0, 0, buffer.id(), offset, expected, transfer->id, {}};
    if (content_size != 0) {
      transfer->may_be_short = true;
      message.buffer = buffer.root().id();  // content is counted from the root's beginning
      message.offset = range.offset;
      message.content_size = content_size;
    }
    send_message(command, message);
    return CL_SUCCESS;
  }
  bool is_awaited() const { return blocking; }
  cl_int outcome(CommandQueue& queue, Ref<Event>& own, Event**) const {
    return blocking ? await_read(queue, transfer, own.get()) : CL_SUCCESS;
  }
};

struct WritePlan : Plan {
  cl_command_type type;
  bool blocking;
  bool may_push;
  MemoryObject& buffer;
  std::uint64_t offset, size;
  const std::byte* from;
  TransferRef transfer{};

  void uses(auto& uses) const { uses.writes(buffer, buffer.range(offset, size)); }
  cl_int send(PendingCommand& command) {
    const bool late = command.touches_host(from, size);
    command.moves(size, nullptr, &command.queue().device());
    EnqueueWrite message{0, 0, buffer.id(), offset, size, 0, {}, {}};
    if (size <= kInlineDataMax && !late) {
      message.data = Bytes(from, size);
    } else {
      if (may_push && !late) transfer = push_bytes(command, from, size);
      message.is_pushed = transfer ? 1 : 0;
      if (!transfer) transfer = offer_bytes(command, blocking, from, size, nullptr);
      message.transfer = transfer->id;
    }
    send_message(command, message);
    return CL_SUCCESS;
  }
  bool is_awaited() const { return blocking && transfer; }
  cl_int outcome(CommandQueue& queue, Ref<Event>& own, Event**) const {
    return is_awaited() ? send_bytes(queue, transfer, own.get()) : CL_SUCCESS;
  }
};

}  // namespace

cl_int await_read(CommandQueue& queue, const TransferRef& transfer, Event* event) {
  // In an in-order queue the earlier reads must have ended for the application too.
  const auto is_done = [&] {
    return transfer->ended() && (event == nullptr || event->ended()) &&
           (!queue.in_order() || queue.pending_reads().ended_through(transfer->ticket));
  };
  if (queue.session().wait(is_done, limit_of(event)) || queue.session().lost()) return outcome(queue, transfer, event);
  event->leave_unended();
  return CL_SUCCESS;
}

cl_int send_bytes(CommandQueue& queue, const TransferRef& transfer, Event* event) {
  Session& session = queue.session();
  if (transfer->sender_waits) {
    session.wait([&] { return transfer->state.load() != Transfer::State::kPending; });
    if (transfer->state.load() == Transfer::State::kPulled) transfer->channel->sender().send(transfer);
    return outcome(queue, transfer, event);
  }
  if (transfer->is_pushed) transfer->channel->sender().post(transfer);
  if (session.wait([&] { return transfer->ended(); }, limit_of(event)) || session.lost()) {
    return outcome(queue, transfer, event);
  }
  event->leave_unended();
  return CL_SUCCESS;
}

TransferRef expect_bytes(PendingCommand& command, bool blocking, std::byte* to, std::uint64_t size,
                         std::shared_ptr<void> keep_alive) {
  return expect_at(command, blocking, to, size, std::move(keep_alive), to, size);
}

TransferRef expect_rows(PendingCommand& command, bool blocking, std::byte* to, const Rectangle& rectangle,
                        const Extent& rows, std::shared_ptr<void> keep_alive) {
  if (is_packed(rectangle, rows)) {
    std::byte* const memory = to + rectangle.begin();
    return expect_bytes(command, blocking, memory, volume(rows), std::move(keep_alive));
  }
  const std::shared_ptr<std::byte[]> bytes(new std::byte[volume(rows)]);
  return expect_at(command, blocking, bytes.get(), volume(rows), bytes, to + rectangle.begin(), rectangle.extent(rows),
                   [from = bytes.get(), to, rectangle, rows, keep_alive = std::move(keep_alive)] {
                     copy_rows(packed(rows), from, rectangle, to, rows);
                   });
}

PackedRows pack_rows(PendingCommand& command, const std::byte* from, const Rectangle& rectangle, const Extent& rows,
                     std::shared_ptr<void> keep_alive) {
  const std::uint64_t size = volume(rows);
  const std::byte* const memory = from + rectangle.begin();
  if (is_packed(rectangle, rows)) return {memory, size, std::move(keep_alive), command.touches_host(memory, size)};
  const std::shared_ptr<std::byte[]> bytes(new std::byte[size]);
  const auto pack = [=] { copy_rows(rectangle, from, packed(rows), bytes.get(), rows); };
  const bool late = command.touches_host(memory, rectangle.extent(rows), pack);
  if (!late) pack();
  return {bytes.get(), size, bytes, late};
}

TransferRef offer_rows(PendingCommand& command, bool blocking, const PackedRows& rows) {
  return offer_bytes(command, blocking, rows.bytes, rows.size, rows.keep_alive);
}

cl_int enqueue_read(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                    void* to, WaitList wait, Event** event, cl_command_type type, std::shared_ptr<void> keep_alive) {
  const ReadPlan plan{{}, type, blocking, buffer, offset, size, static_cast<std::byte*>(to), std::move(keep_alive)};
  return submit(queue, plan, wait, event);
}

cl_int enqueue_write(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                     const void* from, WaitList wait, Event** event, cl_command_type type) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  // With a wait list a blocking call must return the result of the wait, so it cannot push.
  const bool may_push = blocking && wait.empty();
  return submit(queue, WritePlan{{}, type, blocking, may_push, buffer, offset, size, bytes}, wait, event);
}

cl_int enqueue_read_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                         const Rectangle& host_rectangle, const Extent& region, void* to, WaitList wait,
                         Event** event) {
  return submit(queue,
                ReadRowsPlan<EnqueueReadRect>{{},
                                              CL_COMMAND_READ_BUFFER_RECT,
                                              blocking,
                                              buffer,
                                              buffer.range(buffer_rectangle.begin(), buffer_rectangle.extent(region)),
                                              static_cast<std::byte*>(to),
                                              host_rectangle,
                                              region,
                                              {0,
                                               0,
                                               buffer.id(),
                                               buffer_rectangle.origin,
                                               region,
                                               buffer_rectangle.row_pitch,
                                               buffer_rectangle.slice_pitch,
                                               0,
                                               {}}},
                wait, event);
}

cl_int enqueue_write_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                          const Rectangle& host_rectangle, const Extent& region, const void* from, WaitList wait,
                          Event** event) {
  return submit(queue,
                WriteRowsPlan<EnqueueWriteRect>{{},
                                                CL_COMMAND_WRITE_BUFFER_RECT,
                                                blocking,
                                                buffer,
                                                buffer.range(buffer_rectangle.begin(), buffer_rectangle.extent(region)),
                                                !is_packed(buffer_rectangle, region),
                                                static_cast<const std::byte*>(from),
                                                host_rectangle,
                                                region,
                                                {0,
                                                 0,
                                                 buffer.id(),
                                                 buffer_rectangle.origin,
                                                 region,
                                                 buffer_rectangle.row_pitch,
                                                 buffer_rectangle.slice_pitch,
                                                 0,
                                                 {},
                                                 {}}},
                wait, event);
}

}  // namespace remotecl
