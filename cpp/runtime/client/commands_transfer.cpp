// Reads and writes of buffers, plain and rectangular.
#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/client/pending_command.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

void give(Ref<Event> own, Event** event) {
  if (event != nullptr) *event = own.detach();
}

// What a blocking call says once its command has ended.
cl_int outcome(CommandQueue& queue, const TransferRef& transfer, const Event* event) {
  const bool moved = transfer->state.load() == Transfer::State::kDone;
  if (moved && (event == nullptr || event->status() >= 0)) return CL_SUCCESS;
  if (queue.session().lost()) return CL_DEVICE_NOT_AVAILABLE;
  const cl_int failure = event != nullptr ? std::min(event->status(), 0) : queue.take_failure();
  return failure != CL_SUCCESS ? failure : CL_OUT_OF_RESOURCES;
}

// Registers where the bytes of a read go. `then` runs when they are there.
TransferRef expect_bytes(PendingCommand& command, bool blocking, std::byte* to, std::uint64_t size,
                         std::shared_ptr<void> keep_alive, std::function<void()> then = {}) {
  Ref<Event> event(command.event());
  if (event) {
    event->add_hold();
    event->reported_unasked();
  }
  Session& session = command.session();
  if (!blocking) session.add_interest();
  const auto finished = [event, blocking, &session, then = std::move(then)](bool ok) {
    if (ok && then) then();
    if (event) event->release_hold(ok);
    if (!blocking) session.drop_interest();
  };
  return session.begin_transfer(to, size, finished, std::move(keep_alive));
}

// `before`: the newest of the queue's commands that came before the read.
cl_int await_read(CommandQueue& queue, const TransferRef& transfer, Event* event, std::uint64_t before) {
  queue.session().wait([&] { return transfer->ended() && (event == nullptr || event->ended()); });
  const cl_int result = outcome(queue, transfer, event);
  if (result == CL_SUCCESS && queue.in_order()) queue.ended_up_to(before);
  return result;
}

// Sends the bytes of a large blocking write from this thread, when the server asks for them.
cl_int push_bytes(CommandQueue& queue, const TransferRef& transfer, const Event* event) {
  queue.session().wait([&] { return transfer->state.load() != Transfer::State::kPending; });
  if (transfer->state.load() == Transfer::State::kPulled) queue.session().send_bulk(transfer);
  return outcome(queue, transfer, event);
}

TransferRef offer_bytes(PendingCommand& command, bool blocking, const std::byte* from, std::uint64_t size,
                        std::shared_ptr<void> keep_alive) {
  Session& session = command.session();
  if (Event* event = command.event()) event->reported_unasked();
  std::function<void(bool)> finished;
  if (!blocking) {
    session.add_interest();
    finished = [&session](bool) { session.drop_interest(); };
  }
  return session.begin_transfer(const_cast<std::byte*>(from), size, std::move(finished), std::move(keep_alive),
                                blocking);
}

// Copies a rectangle of host memory to or from packed bytes.
template <class Copy>
void for_each_row(const Rectangle& rectangle, const Extent& region, std::byte* packed, std::byte* host, Copy&& copy) {
  for (std::uint64_t z = 0; z < region[2]; ++z) {
    for (std::uint64_t y = 0; y < region[1]; ++y) {
      copy(packed, host + rectangle.begin() + z * rectangle.slice_pitch + y * rectangle.row_pitch);
      packed += region[0];
    }
  }
}

std::uint64_t volume(const Extent& region) { return region[0] * region[1] * region[2]; }

bool is_packed(const Rectangle& rectangle, const Extent& region) { return rectangle.extent(region) == volume(region); }

}  // namespace

cl_int enqueue_read(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                    void* to, WaitList wait, Event** event) {
  PendingCommand command(queue, CL_COMMAND_READ_BUFFER, wait, event != nullptr);
  command.reads(buffer, buffer.range(offset, size));
  if (command.error() != CL_SUCCESS) return command.error();
  const TransferRef transfer = expect_bytes(command, blocking, static_cast<std::byte*>(to), size, nullptr);
  command.session().send(
      EnqueueRead{queue.id(), command.event_id(), buffer.id(), offset, size, transfer->id, command.wait_list()});
  const std::uint64_t before = queue.last_sequence();
  Ref<Event> own = command.sent();
  const cl_int result = blocking ? await_read(queue, transfer, own.get(), before) : CL_SUCCESS;
  if (result == CL_SUCCESS) give(std::move(own), event);
  return result;
}

cl_int enqueue_write(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                     const void* from, WaitList wait, Event** event) {
  PendingCommand command(queue, CL_COMMAND_WRITE_BUFFER, wait, event != nullptr);
  command.writes(buffer, buffer.range(offset, size));
  if (command.error() != CL_SUCCESS) return command.error();
  const auto* bytes = static_cast<const std::byte*>(from);
  EnqueueWrite message{queue.id(), command.event_id(), buffer.id(), offset, size, 0, {}, command.wait_list()};
  TransferRef transfer;
  if (size <= kInlineDataMax) {
    message.data = Bytes(bytes, size);
  } else {
    transfer = offer_bytes(command, blocking, bytes, size, nullptr);
    message.transfer = transfer->id;
  }
  command.session().send(message);
  Ref<Event> own = command.sent();
  const cl_int result = blocking && transfer ? push_bytes(queue, transfer, own.get()) : CL_SUCCESS;
  if (result == CL_SUCCESS) give(std::move(own), event);
  return result;
}

cl_int enqueue_read_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                         const Rectangle& host_rectangle, const Extent& region, void* to, WaitList wait,
                         Event** event) {
  PendingCommand command(queue, CL_COMMAND_READ_BUFFER_RECT, wait, event != nullptr);
  command.reads(buffer, buffer.range(buffer_rectangle.begin(), buffer_rectangle.extent(region)));
  if (command.error() != CL_SUCCESS) return command.error();
  auto* host = static_cast<std::byte*>(to);
  TransferRef transfer;
  if (is_packed(host_rectangle, region)) {
    transfer = expect_bytes(command, blocking, host + host_rectangle.begin(), volume(region), nullptr);
  } else {
    const std::shared_ptr<std::byte[]> packed(new std::byte[volume(region)]);
    transfer = expect_bytes(command, blocking, packed.get(), volume(region), packed,
                            [packed = packed.get(), host, host_rectangle, region] {
                              for_each_row(host_rectangle, region, packed, host,
                                           [&](std::byte* from, std::byte* row) { std::memcpy(row, from, region[0]); });
                            });
  }
  command.session().send(EnqueueReadRect{queue.id(), command.event_id(), buffer.id(), buffer_rectangle.origin, region,
                                         buffer_rectangle.row_pitch, buffer_rectangle.slice_pitch, transfer->id,
                                         command.wait_list()});
  const std::uint64_t before = queue.last_sequence();
  Ref<Event> own = command.sent();
  const cl_int result = blocking ? await_read(queue, transfer, own.get(), before) : CL_SUCCESS;
  if (result == CL_SUCCESS) give(std::move(own), event);
  return result;
}

cl_int enqueue_write_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                          const Rectangle& host_rectangle, const Extent& region, const void* from, WaitList wait,
                          Event** event) {
  PendingCommand command(queue, CL_COMMAND_WRITE_BUFFER_RECT, wait, event != nullptr);
  const ByteRange range = buffer.range(buffer_rectangle.begin(), buffer_rectangle.extent(region));
  if (!is_packed(buffer_rectangle, region)) command.reads(buffer, range);  // the gaps keep what they hold
  command.writes(buffer, range);
  if (command.error() != CL_SUCCESS) return command.error();
  const std::uint64_t size = volume(region);
  auto* host = static_cast<std::byte*>(const_cast<void*>(from));
  const std::byte* bytes = host + host_rectangle.begin();
  std::shared_ptr<std::byte[]> packed;
  if (!is_packed(host_rectangle, region)) {
    packed.reset(new std::byte[size]);
    for_each_row(host_rectangle, region, packed.get(), host,
                 [&](std::byte* to, std::byte* row) { std::memcpy(to, row, region[0]); });
    bytes = packed.get();
  }
  EnqueueWriteRect message{queue.id(),
                           command.event_id(),
                           buffer.id(),
                           buffer_rectangle.origin,
                           region,
                           buffer_rectangle.row_pitch,
                           buffer_rectangle.slice_pitch,
                           0,
                           {},
                           command.wait_list()};
  TransferRef transfer;
  if (size <= kInlineDataMax) {
    message.data = Bytes(bytes, size);
  } else {
    transfer = offer_bytes(command, blocking, bytes, size, packed);
    message.transfer = transfer->id;
  }
  command.session().send(message);
  Ref<Event> own = command.sent();
  const cl_int result = blocking && transfer ? push_bytes(queue, transfer, own.get()) : CL_SUCCESS;
  if (result == CL_SUCCESS) give(std::move(own), event);
  return result;
}

}  // namespace remotecl
