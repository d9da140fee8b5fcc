#pragma once

#include "runtime/protocol/messages/message.h"
#include "runtime/protocol/messages/program.h"

// Commands. Each names its queue, its event (0: none) and the events that it waits for.
namespace remotecl {

struct KernelArgument {
  std::uint32_t index;
  ArgumentKind kind;
  std::uint64_t number;  // kMemory, kImage, kSampler: id (0: NULL); kLocal: size; kSvm: address
  Bytes value;           // kValue
  REMOTECL_FIELDS(index, kind, number, value)
};
struct EnqueueKernel {
  REMOTECL_MESSAGE(EnqueueKernel);
  ObjectId queue;
  EventId event;
  ObjectId kernel;
  std::uint32_t dimensions;
  std::uint32_t has_local;  // 0: the native driver chooses the work-group size
  Extent offset;
  Extent global;
  Extent local;
  Sequence<KernelArgument> arguments;  // those changed since the kernel's last command on this device
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, kernel, dimensions, has_local, offset, global, local, arguments, wait_list)
};
// Answered by NativeAnswer with three 64-bit sizes. Carries changed arguments like EnqueueKernel.
struct SuggestLocalSize {
  REMOTECL_MESSAGE(SuggestLocalSize);
  ObjectId queue;
  ObjectId kernel;
  Token token;
  std::uint32_t dimensions;
  Extent offset;
  Extent global;
  Sequence<KernelArgument> arguments;
  REMOTECL_FIELDS(queue, kernel, token, dimensions, offset, global, arguments)
};
struct EnqueueRead {
  REMOTECL_MESSAGE(EnqueueRead);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  std::uint64_t offset;
  std::uint64_t size;
  TransferId transfer;
  Array<EventId> wait_list;
  ObjectId content_size = 0;  // a buffer that says how many bytes of `buffer` are meaningful; 0: all
  REMOTECL_FIELDS(queue, event, buffer, offset, size, transfer, wait_list, content_size)
};
struct EnqueueWrite {
  REMOTECL_MESSAGE(EnqueueWrite);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  std::uint64_t offset;
  std::uint64_t size;
  TransferId transfer;  // 0: the data is in `data`; else the server pulls it
  Bytes data;
  Array<EventId> wait_list;
  std::uint32_t is_pushed = 0;  // the data comes on the bulk connection without being pulled
  REMOTECL_FIELDS(queue, event, buffer, offset, size, transfer, data, wait_list, is_pushed)
};
// Rectangles are packed on the wire: region[0] * region[1] * region[2] bytes, whatever the pitches are.
struct EnqueueReadRect {
  REMOTECL_MESSAGE(EnqueueReadRect);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  Extent origin;
  Extent region;
  std::uint64_t row_pitch;
  std::uint64_t slice_pitch;
  TransferId transfer;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, origin, region, row_pitch, slice_pitch, transfer, wait_list)
};
struct EnqueueWriteRect {
  REMOTECL_MESSAGE(EnqueueWriteRect);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  Extent origin;
  Extent region;
  std::uint64_t row_pitch;
  std::uint64_t slice_pitch;
  TransferId transfer;
  Bytes data;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, origin, region, row_pitch, slice_pitch, transfer, data, wait_list)
};
struct EnqueueCopy {
  REMOTECL_MESSAGE(EnqueueCopy);
  ObjectId queue;
  EventId event;
  ObjectId source;
  ObjectId destination;
  std::uint64_t source_offset;
  std::uint64_t destination_offset;
  std::uint64_t size;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, source, destination, source_offset, destination_offset, size, wait_list)
};
struct EnqueueCopyRect {
  REMOTECL_MESSAGE(EnqueueCopyRect);
  ObjectId queue;
  EventId event;
  ObjectId source;
  ObjectId destination;
  Extent source_origin;
  Extent destination_origin;
  Extent region;
  std::uint64_t source_row_pitch;
  std::uint64_t source_slice_pitch;
  std::uint64_t destination_row_pitch;
  std::uint64_t destination_slice_pitch;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, source, destination, source_origin, destination_origin, region, source_row_pitch,
                  source_slice_pitch, destination_row_pitch, destination_slice_pitch, wait_list)
};
struct EnqueueFill {
  REMOTECL_MESSAGE(EnqueueFill);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  std::uint64_t offset;
  std::uint64_t size;
  Bytes pattern;  // 1, 2, 4, ... 128 bytes
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, offset, size, pattern, wait_list)
};
struct EnqueueMarker {
  REMOTECL_MESSAGE(EnqueueMarker);
  ObjectId queue;
  EventId event;
  std::uint32_t is_barrier;     // later commands of the queue wait for it
  std::uint32_t waits_for_all;  // it also waits for all earlier commands of the queue
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, is_barrier, waits_for_all, wait_list)
};

}  // namespace remotecl
