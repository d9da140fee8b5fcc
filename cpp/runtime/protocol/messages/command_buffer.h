#pragma once

#include "runtime/protocol/messages/message.h"

// Command buffers: commands that are sent once and executed as often as the client asks.
namespace remotecl {

// An Enqueue... message. Its queue is 0; its event is the command's index in the recording, from 1; its wait
// list has indices of earlier commands.
struct RecordedCommand {
  std::uint16_t code;
  Bytes message;
  REMOTECL_FIELDS(code, message)
};
struct CreateCommandBuffer {
  REMOTECL_MESSAGE(CreateCommandBuffer);
  ObjectId command_buffer;
  std::uint32_t device;
  Sequence<RecordedCommand> commands;
  REMOTECL_FIELDS(command_buffer, device, commands)
};
struct ReleaseCommandBuffer {
  REMOTECL_MESSAGE(ReleaseCommandBuffer);
  ObjectId command_buffer;
  REMOTECL_FIELDS(command_buffer)
};
struct EnqueueCommandBuffer {
  REMOTECL_MESSAGE(EnqueueCommandBuffer);
  ObjectId queue;
  EventId event;
  ObjectId command_buffer;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, command_buffer, wait_list)
};
struct QueryCommandBuffer {
  REMOTECL_MESSAGE(QueryCommandBuffer);
  ObjectId command_buffer;
  Token token;
  REMOTECL_FIELDS(command_buffer, token)
};
struct CommandBufferState {
  REMOTECL_MESSAGE(CommandBufferState);
  Token token;
  std::uint32_t is_pending;
  REMOTECL_FIELDS(token, is_pending)
};

}  // namespace remotecl
