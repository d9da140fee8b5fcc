#pragma once

#include "runtime/protocol/messages/message.h"

// Images and samplers. Only whole pixels are sent, packed: rows of width * pixel size bytes without gaps.
namespace remotecl {

struct CreateImage {
  REMOTECL_MESSAGE(CreateImage);
  ObjectId image;
  ObjectId buffer;  // holds the pixels; 0: the image has memory of its own
  std::uint64_t flags;
  std::uint32_t channel_order;
  std::uint32_t channel_type;
  std::uint32_t type;  // cl_mem_object_type
  std::uint64_t width;
  std::uint64_t height;      // for 2D, 2D array and 3D images; else 0
  std::uint64_t depth;       // for 3D images; else 0
  std::uint64_t array_size;  // for arrays; else 0
  std::uint64_t row_pitch;   // for 2D images made from a buffer; else 0
  REMOTECL_FIELDS(image, buffer, flags, channel_order, channel_type, type, width, height, depth, array_size, row_pitch)
};
struct ReleaseImage {
  REMOTECL_MESSAGE(ReleaseImage);
  ObjectId image;
  REMOTECL_FIELDS(image)
};
struct CreateSampler {
  REMOTECL_MESSAGE(CreateSampler);
  ObjectId sampler;
  std::uint32_t normalized_coordinates;
  std::uint32_t addressing_mode;
  std::uint32_t filter_mode;
  REMOTECL_FIELDS(sampler, normalized_coordinates, addressing_mode, filter_mode)
};
struct ReleaseSampler {
  REMOTECL_MESSAGE(ReleaseSampler);
  ObjectId sampler;
  REMOTECL_FIELDS(sampler)
};

struct EnqueueReadImage {
  REMOTECL_MESSAGE(EnqueueReadImage);
  ObjectId queue;
  EventId event;
  ObjectId image;
  Extent origin;
  Extent region;
  TransferId transfer;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, image, origin, region, transfer, wait_list)
};
struct EnqueueWriteImage {
  REMOTECL_MESSAGE(EnqueueWriteImage);
  ObjectId queue;
  EventId event;
  ObjectId image;
  Extent origin;
  Extent region;
  TransferId transfer;  // 0: the pixels are in `data`; else the server pulls them
  Bytes data;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, image, origin, region, transfer, data, wait_list)
};
struct EnqueueCopyImage {
  REMOTECL_MESSAGE(EnqueueCopyImage);
  ObjectId queue;
  EventId event;
  ObjectId source;
  ObjectId destination;
  Extent source_origin;
  Extent destination_origin;
  Extent region;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, source, destination, source_origin, destination_origin, region, wait_list)
};
struct EnqueueFillImage {
  REMOTECL_MESSAGE(EnqueueFillImage);
  ObjectId queue;
  EventId event;
  ObjectId image;
  Extent origin;
  Extent region;
  std::array<std::uint32_t, 4> color;  // as for clEnqueueFillImage: floats or integers
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, image, origin, region, color, wait_list)
};
// Copies between an image and packed pixels at an offset of a buffer.
struct EnqueueCopyImageBuffer {
  REMOTECL_MESSAGE(EnqueueCopyImageBuffer);
  ObjectId queue;
  EventId event;
  ObjectId image;
  ObjectId buffer;
  std::uint32_t to_buffer;  // 0: to the image
  Extent origin;
  Extent region;
  std::uint64_t offset;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, image, buffer, to_buffer, origin, region, offset, wait_list)
};

struct GetImageFormats {
  REMOTECL_MESSAGE(GetImageFormats);
  Token token;
  std::uint32_t device;
  std::uint64_t flags;
  std::uint32_t type;  // cl_mem_object_type
  REMOTECL_FIELDS(token, device, flags, type)
};
struct ImageFormats {
  REMOTECL_MESSAGE(ImageFormats);
  Token token;
  std::int32_t error;            // the native driver's answer
  Array<std::uint32_t> formats;  // channel order and channel type alternately, in the driver's order
  REMOTECL_FIELDS(token, error, formats)
};

}  // namespace remotecl
