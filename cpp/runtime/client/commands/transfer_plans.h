#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/client/commands/command_plan.h"
#include "runtime/client/support/rectangle.h"
#include "runtime/client/support/rows.h"
#include "runtime/protocol/frames.h"

// Plans of the commands that move bytes between the application's memory and a server, and the steps they
// share.
namespace remotecl {

// Registers the destination of a read, which stays valid as long as `keep_alive`. `rows`: how the bytes lie
// there, unless without gaps.
TransferRef expect_bytes(PendingCommand& command, bool blocking, std::byte* to, std::uint64_t size,
                         std::shared_ptr<void> keep_alive, const std::optional<Rows>& rows = {});
// The same for a rectangle at `to`.
TransferRef expect_rows(PendingCommand& command, bool blocking, std::byte* to, const Rectangle& rectangle,
                        const Extent& rows, std::shared_ptr<void> keep_alive = nullptr);
// Blocks until the bytes have arrived, or as the thread's WaitLimit allows. Returns the result of the
// blocking call.
cl_int await_read(CommandQueue& queue, const TransferRef& transfer, Event* event);

// Rows of this process's memory to be written. `late`: their bytes are still on their way to this process,
// and the command waits for them.
struct RowsToWrite {
  const std::byte* memory;
  Rows rows;
  std::shared_ptr<void> keep_alive;
  bool late;
  std::vector<std::byte> packed = {};

  std::uint64_t size() const { return rows.size(); }
  bool fit_in_message() const { return size() <= kInlineDataMax && !late; }
  // For a message; valid as long as this object.
  Bytes pack();
};
RowsToWrite rows_to_write(PendingCommand& command, const std::byte* from, const Rectangle& rectangle,
                          const Extent& extent, std::shared_ptr<void> keep_alive = nullptr);
// Registers these bytes for the server to pull.
TransferRef offer_rows(PendingCommand& command, bool blocking, const RowsToWrite& rows);
// Sends the bytes of a large blocking write from this thread when the server asks for them. If the thread's
// WaitLimit applies, another thread sends them, so that it can continue after this call has returned.
cl_int send_bytes(CommandQueue& queue, const TransferRef& transfer, Event* event);

// Into rows of the application's memory.
template <class Message>
struct ReadRowsPlan : Plan {
  cl_command_type type;
  bool blocking;
  MemoryObject& memory;
  ByteRange range;
  std::byte* to;
  Rectangle rectangle;  // at `to`
  Extent rows;
  Message read;  // without transfer
  TransferRef transfer{};

  void uses(auto& uses) const REQUIRES(kMemoryMutex) { uses.reads(memory, range); }
  cl_int send(PendingCommand& command) REQUIRES(kMemoryMutex) {
    transfer = expect_rows(command, blocking, to, rectangle, rows);
    read.transfer = transfer->id;
    send_message(command, read);
    return CL_SUCCESS;
  }
  bool is_awaited() const { return blocking; }
  cl_int outcome(CommandQueue& queue, Ref<Event>& own, Event**) const {
    return blocking ? await_read(queue, transfer, own.get()) : CL_SUCCESS;
  }
};

// From rows of the application's memory.
template <class Message>
struct WriteRowsPlan : Plan {
  cl_command_type type;
  bool blocking;
  MemoryObject& memory;
  ByteRange range;
  bool has_gaps;  // of the range, whose bytes stay unchanged
  const std::byte* from;
  Rectangle rectangle;  // at `from`
  Extent rows;
  Message write;  // without transfer or data
  TransferRef transfer{};

  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    if (has_gaps) uses.reads(memory, range);
    uses.writes(memory, range);
  }
  cl_int send(PendingCommand& command) REQUIRES(kMemoryMutex) {
    RowsToWrite written = rows_to_write(command, from, rectangle, rows);
    command.moves(written.size(), nullptr, &command.queue().device());
    if (written.fit_in_message()) {
      write.data = written.pack();
    } else {
      transfer = offer_rows(command, blocking, written);
      write.transfer = transfer->id;
    }
    send_message(command, write);
    return CL_SUCCESS;
  }
  bool is_awaited() const { return blocking && transfer; }
  cl_int outcome(CommandQueue& queue, Ref<Event>& own, Event**) const {
    return is_awaited() ? send_bytes(queue, transfer, own.get()) : CL_SUCCESS;
  }
};

}  // namespace remotecl
