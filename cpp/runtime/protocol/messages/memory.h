#pragma once

#include "runtime/protocol/messages/message.h"

// Queues and buffers.
namespace remotecl {

struct CreateQueue {
  REMOTECL_MESSAGE(CreateQueue);
  ObjectId queue;
  std::uint32_t device;
  std::uint64_t properties;  // cl_command_queue_properties
  REMOTECL_FIELDS(queue, device, properties)
};
struct ReleaseQueue {
  REMOTECL_MESSAGE(ReleaseQueue);
  ObjectId queue;
  REMOTECL_FIELDS(queue)
};
struct CreateBuffer {
  REMOTECL_MESSAGE(CreateBuffer);
  ObjectId buffer;
  std::uint64_t flags;  // cl_mem_flags without those about host memory
  std::uint64_t size;
  REMOTECL_FIELDS(buffer, flags, size)
};
struct CreateSubBuffer {
  REMOTECL_MESSAGE(CreateSubBuffer);
  ObjectId buffer;
  ObjectId parent;
  std::uint64_t flags;
  std::uint64_t offset;
  std::uint64_t size;
  REMOTECL_FIELDS(buffer, parent, flags, offset, size)
};
struct ReleaseBuffer {
  REMOTECL_MESSAGE(ReleaseBuffer);
  ObjectId buffer;
  REMOTECL_FIELDS(buffer)
};

}  // namespace remotecl
