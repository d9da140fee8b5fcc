#pragma once

#include <memory>

#include "runtime/client/commands/pending_command.h"
#include "runtime/client/support/rectangle.h"

// Steps of the commands that move bytes between the application's memory and a server.
namespace remotecl {

// Registers that the packed bytes of a read go into a rectangle, which stays valid as long as `keep_alive`.
TransferRef expect_rows(PendingCommand& command, bool blocking, std::byte* to, const Rectangle& rectangle,
                        const Extent& rows, std::shared_ptr<void> keep_alive = nullptr);
// Blocks until the bytes are there, or as the thread's WaitLimit allows; what a blocking call then says.
cl_int await_read(CommandQueue& queue, const TransferRef& transfer, Event* event);

// Bytes that a write is to send, packed: the caller's own, or a copy. `late`: they are still on their way to this
// process, and the command waits for them.
struct PackedRows {
  const std::byte* bytes;
  std::uint64_t size;
  std::shared_ptr<void> keep_alive;
  bool late;
};
PackedRows pack_rows(PendingCommand& command, const std::byte* from, const Rectangle& rectangle, const Extent& rows,
                     std::shared_ptr<void> keep_alive = nullptr);
// Registers that the server will pull these bytes.
TransferRef offer_rows(PendingCommand& command, bool blocking, const PackedRows& rows);
// Sends the bytes of a large blocking write from this thread, when the server asks for them. Where the thread's
// WaitLimit counts, another thread does, and goes on with it.
cl_int send_bytes(CommandQueue& queue, const TransferRef& transfer, Event* event);

}  // namespace remotecl
