// Reads and writes of buffers, plain and rectangular.
#include <algorithm>
#include <memory>

#include "runtime/client/commands/transfer_plans.h"
#include "runtime/client/support/inbound_host_ranges.h"

namespace remotecl {
namespace {

// A call that may return early needs an event for the rest of its work.
OptionalDeadline limit_of(const Event* event) { return event == nullptr ? OptionalDeadline() : WaitLimit::deadline(); }

// The result of a blocking call whose command has ended.
cl_int outcome(CommandQueue& queue, const TransferRef& transfer, const Event* event) {
  queue.end_becomes_known();
  const bool moved = transfer->state.load() == ClientTransfer::State::kDone;
  if (moved && (event == nullptr || event->status() >= 0)) return CL_SUCCESS;
  if (queue.session().lost()) return CL_DEVICE_NOT_AVAILABLE;
  if (event != nullptr) return moved ? event->status() : transfer->failure;
  const cl_int first = queue.take_failure();
  return first != CL_SUCCESS ? first : transfer->failure;
}

// For the application a write that does not block, and what comes after it in its queue, has not ended before the bytes
// have left its memory, whatever the server says. The result is for the transfer's end.
std::function<void(cl_int)> hold_until_sent(PendingCommand& command) {
  Event* const event = command.event();
  if (event != nullptr) event->add_hold();
  const PendingReads::Ticket ticket = command.queue().pending_reads().begin();
  return [event = Ref<Event>(event), queue = Ref<CommandQueue>(&command.queue()), ticket](cl_int status) {
    queue->pending_reads().end(ticket);
    if (event) event->release_hold(status);
  };
}

TransferRef offer_bytes(PendingCommand& command, bool blocking, const std::byte* from, std::uint64_t size,
                        std::shared_ptr<void> keep_alive, const std::optional<Rows>& rows = {}) {
  Session& session = command.session();
  if (Event* event = command.event()) event->reported_unasked();
  std::function<void(cl_int)> finished;
  if (!blocking) {
    session.add_interest();
    finished = [&session, sent = hold_until_sent(command)](cl_int status) {
      sent(status);
      session.drop_interest();
    };
  }
  const bool sender_waits = blocking && !limit_of(command.event());
  TransferRef transfer = session.begin_send(command.queue().device().index(), from, size, std::move(finished),
                                            std::move(keep_alive), sender_waits, rows);
  transfer->trace.record = command.record_id();
  return transfer;
}

// The same for bytes that are sent without a request. Returns null if the server must request them.
TransferRef push_bytes(PendingCommand& command, bool blocking, const std::byte* from, std::uint64_t size) {
  Session& session = command.session();
  const std::uint32_t device = command.queue().device().index();
  if (!session.take_push(device, size, blocking)) return nullptr;
  if (Event* event = command.event()) event->reported_unasked();
  const bool sender_waits = blocking && !limit_of(command.event());
  auto finished = blocking ? std::function<void(cl_int)>() : hold_until_sent(command);
  TransferRef transfer = session.begin_push(device, from, size, std::move(finished), blocking, sender_waits);
  transfer->trace.record = command.record_id();
  return transfer;
}

Rows rows_of(const Rectangle& rectangle, const Extent& extent) {
  return {extent, rectangle.row_pitch, rectangle.slice_pitch};
}

// Rows without gaps are plain bytes.
std::optional<Rows> gaps_of(const Rows& rows) { return rows.is_packed() ? std::nullopt : std::optional(rows); }

struct ReadPlan : Plan {
  cl_command_type type;
  bool blocking;
  MemoryObject& buffer;
  std::uint64_t offset, size;
  std::byte* to;
  std::shared_ptr<void> keep_alive;
  TransferRef transfer{};

  void uses(auto& uses) const REQUIRES(kMemoryMutex) { uses.reads(buffer, buffer.range(offset, size)); }
  cl_int send(PendingCommand& command) REQUIRES(kMemoryMutex) {
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

  void uses(auto& uses) const REQUIRES(kMemoryMutex) { uses.writes(buffer, buffer.range(offset, size)); }
  cl_int send(PendingCommand& command) REQUIRES(kMemoryMutex) {
    const bool late = command.touches_host(from, size);
    command.moves(size, nullptr, &command.queue().device());
    EnqueueWrite message{0, 0, buffer.id(), offset, size, 0, {}, {}};
    if (size <= kInlineDataMax && !late) {
      message.data = Bytes(from, size);
    } else {
      if (may_push && !late) transfer = push_bytes(command, blocking, from, size);
      message.is_pushed = transfer ? 1 : 0;
      if (!transfer) transfer = offer_bytes(command, blocking, from, size, nullptr);
      message.transfer = transfer->id;
    }
    send_message(command, message);
    return CL_SUCCESS;
  }
  bool is_awaited() const { return blocking && transfer; }
  cl_int outcome(CommandQueue& queue, Ref<Event>& own, Event**) const {
    if (is_awaited()) return send_bytes(queue, transfer, own.get());
    if (transfer && transfer->is_pushed) transfer->channel->sender().post(transfer);
    return CL_SUCCESS;
  }
};

}  // namespace

cl_int await_read(CommandQueue& queue, const TransferRef& transfer, Event* event) {
  // What came before it must have ended for the application, too.
  const auto is_done = [&, &pending = queue.pending_reads()] {
    return transfer->ended() && (event == nullptr || event->ended()) &&
           (queue.in_order() ? pending.ended_through(transfer->ticket) : pending.have_ended(transfer->awaited));
  };
  if (queue.session().wait(is_done, limit_of(event)) || queue.session().lost()) return outcome(queue, transfer, event);
  event->leave_unended();
  return CL_SUCCESS;
}

cl_int send_bytes(CommandQueue& queue, const TransferRef& transfer, Event* event) {
  Session& session = queue.session();
  if (transfer->sender_waits) {
    session.wait([&] { return transfer->state.load() != ClientTransfer::State::kPending; });
    if (transfer->state.load() == ClientTransfer::State::kPulled) transfer->channel->sender().send(transfer);
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
                         std::shared_ptr<void> keep_alive, const std::optional<Rows>& rows) {
  const std::uint64_t span = rows ? rows->span() : size;
  command.touches_host(to, span);
  const InboundHostRanges::Ticket arrival = InboundHostRanges::instance().begin_after_pending(to, span);
  Event* const event = command.event();
  if (event != nullptr) {
    event->add_hold();
    event->reported_unasked();
  }
  Session& session = command.session();
  if (!blocking) session.add_interest();
  CommandQueue& queue = command.queue();
  std::vector<PendingReads::Ticket> awaited;
  if (blocking && !queue.in_order()) awaited = command.awaited_transfers();
  const PendingReads::Ticket ticket = queue.pending_reads().begin();
  const auto finished = [event = Ref<Event>(event), queue = Ref<CommandQueue>(&queue), ticket, arrival,
                         sequence = queue.last_sequence(), blocking, &session](cl_int status) {
    InboundHostRanges::instance().end(arrival);
    if (status == CL_COMPLETE && queue->in_order()) queue->ended_up_to(sequence);
    queue->pending_reads().end(ticket);
    if (event) event->release_hold(status);
    if (!blocking) session.drop_interest();
  };
  TransferRef transfer = session.begin_receive(queue.device().index(), to, size, finished, std::move(keep_alive), rows);
  transfer->ticket = ticket;
  transfer->awaited = std::move(awaited);
  transfer->trace.record = command.record_id();
  command.moves(size, &queue.device(), nullptr);
  return transfer;
}

TransferRef expect_rows(PendingCommand& command, bool blocking, std::byte* to, const Rectangle& rectangle,
                        const Extent& extent, std::shared_ptr<void> keep_alive) {
  const Rows rows = rows_of(rectangle, extent);
  return expect_bytes(command, blocking, to + rectangle.begin(), rows.size(), std::move(keep_alive), gaps_of(rows));
}

Bytes RowsToWrite::pack() {
  if (rows.is_packed()) return {memory, size()};
  packed.resize(size());
  rows.pack(memory, 0, packed);
  return packed;
}

RowsToWrite rows_to_write(PendingCommand& command, const std::byte* from, const Rectangle& rectangle,
                          const Extent& extent, std::shared_ptr<void> keep_alive) {
  const Rows rows = rows_of(rectangle, extent);
  const std::byte* const memory = from + rectangle.begin();
  return {memory, rows, std::move(keep_alive), command.touches_host(memory, rows.span())};
}

TransferRef offer_rows(PendingCommand& command, bool blocking, const RowsToWrite& rows) {
  return offer_bytes(command, blocking, rows.memory, rows.size(), rows.keep_alive, gaps_of(rows.rows));
}

cl_int enqueue_read(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                    void* to, WaitList wait, Event** event, cl_command_type type, std::shared_ptr<void> keep_alive) {
  const ReadPlan plan{{}, type, blocking, buffer, offset, size, static_cast<std::byte*>(to), std::move(keep_alive)};
  return submit(queue, plan, wait, event);
}

cl_int enqueue_write(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                     const void* from, WaitList wait, Event** event, cl_command_type type) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  // With a wait list a blocking call must return the result of the wait, so it cannot push. Others might keep the
  // server's memory for long.
  const bool may_push = wait.empty();
  return submit(queue, WritePlan{{}, type, blocking, may_push, buffer, offset, size, bytes}, wait, event);
}

namespace {

// The part that reads and writes of rectangles share.
template <class Message>
Message rect_message(const MemoryObject& buffer, const Rectangle& rectangle, const Extent& region) {
  Message message{};
  message.buffer = buffer.id();
  message.origin = rectangle.origin;
  message.region = region;
  message.row_pitch = rectangle.row_pitch;
  message.slice_pitch = rectangle.slice_pitch;
  return message;
}

ByteRange range_of(const MemoryObject& buffer, const Rectangle& rectangle, const Extent& region) {
  return buffer.range(rectangle.begin(), rectangle.extent(region));
}

}  // namespace

cl_int enqueue_read_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                         const Rectangle& host_rectangle, const Extent& region, void* to, WaitList wait,
                         Event** event) {
  const ReadRowsPlan<EnqueueReadRect> plan{{},
                                           CL_COMMAND_READ_BUFFER_RECT,
                                           blocking,
                                           buffer,
                                           range_of(buffer, buffer_rectangle, region),
                                           static_cast<std::byte*>(to),
                                           host_rectangle,
                                           region,
                                           rect_message<EnqueueReadRect>(buffer, buffer_rectangle, region)};
  return submit(queue, plan, wait, event);
}

cl_int enqueue_write_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                          const Rectangle& host_rectangle, const Extent& region, const void* from, WaitList wait,
                          Event** event) {
  const WriteRowsPlan<EnqueueWriteRect> plan{{},
                                             CL_COMMAND_WRITE_BUFFER_RECT,
                                             blocking,
                                             buffer,
                                             range_of(buffer, buffer_rectangle, region),
                                             !rows_of(buffer_rectangle, region).is_packed(),
                                             static_cast<const std::byte*>(from),
                                             host_rectangle,
                                             region,
                                             rect_message<EnqueueWriteRect>(buffer, buffer_rectangle, region)};
  return submit(queue, plan, wait, event);
}

}  // namespace remotecl
