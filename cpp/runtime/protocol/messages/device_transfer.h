#pragma once

#include "runtime/protocol/messages/message.h"

namespace remotecl {

// Copies bytes of a buffer, or all pixels of an image, from one device of the server to the queue's device.
struct EnqueueTransfer {
  REMOTECL_MESSAGE(EnqueueTransfer);
  ObjectId queue;
  EventId event;
  ObjectId memory;
  std::uint32_t is_image;  // then offset is 0, and size that of the packed pixels
  std::uint32_t source;    // a device
  std::uint64_t offset;
  std::uint64_t size;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, memory, is_image, source, offset, size, wait_list)
};

}  // namespace remotecl
