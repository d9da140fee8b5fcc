// Copies and fills of buffers and images, live and recorded.
#include "server/handlers/memory_commands.h"

#include <algorithm>
#include <utility>

#include "server/handlers/handlers.h"
#include "server/memory/rect.h"

namespace remotecl::server {

cl_int describe(SessionObjects& objects, const EnqueueCopy& message, Device&, CopyBufferCommand& command) {
  Ref<Buffer> source(objects.buffers.find(message.source)), destination(objects.buffers.find(message.destination));
  if (!source || !destination) return CL_INVALID_MEM_OBJECT;
  if (!source->contains(message.source_offset, message.size) ||
      !destination->contains(message.destination_offset, message.size)) {
    return CL_INVALID_VALUE;
  }
  command = {std::move(source), std::move(destination), message.source_offset, message.destination_offset,
             message.size};
  return CL_SUCCESS;
}

cl_int describe(SessionObjects& objects, const EnqueueCopyRect& message, Device& device, CopyRectCommand& command) {
  const Ref<Buffer> source(objects.buffers.find(message.source)),
      destination(objects.buffers.find(message.destination));
  if (!source || !destination) return CL_INVALID_MEM_OBJECT;
  if (!rect_inside(*source, message.source_origin, message.region, message.source_row_pitch,
                   message.source_slice_pitch) ||
      !rect_inside(*destination, message.destination_origin, message.region, message.destination_row_pitch,
                   message.destination_slice_pitch)) {
    return CL_INVALID_VALUE;
  }
  Extent from = message.source_origin, to = message.destination_origin;
  command.source = source->copied(device, from[0]);
  command.destination = destination->copied(device, to[0]);
  command.source_origin = sizes_of(from);
  command.destination_origin = sizes_of(to);
  command.region = sizes_of(message.region);
  command.source_row_pitch = message.source_row_pitch;
  command.source_slice_pitch = message.source_slice_pitch;
  command.destination_row_pitch = message.destination_row_pitch;
  command.destination_slice_pitch = message.destination_slice_pitch;
  return CL_SUCCESS;
}

cl_int describe(SessionObjects& objects, const EnqueueFill& message, Device&, FillBufferCommand& command) {
  command.buffer = Ref<Buffer>(objects.buffers.find(message.buffer));
  if (!command.buffer) return CL_INVALID_MEM_OBJECT;
  if (!command.buffer->contains(message.offset, message.size) || message.pattern.empty() ||
      message.pattern.size() > FillBufferCommand::kPatternSizeMax) {
    return CL_INVALID_VALUE;
  }
  command.offset = message.offset;
  command.size = message.size;
  command.pattern_size = message.pattern.size();
  std::copy(message.pattern.begin(), message.pattern.end(), command.pattern.begin());
  return CL_SUCCESS;
}

cl_int describe(SessionObjects& objects, const EnqueueCopyImage& message, Device& device, CopyPixelsCommand& command) {
  const Ref<Image> source(objects.images.find(message.source)), destination(objects.images.find(message.destination));
  if (!source || !destination) return CL_INVALID_MEM_OBJECT;
  if (source->shape().pixel != destination->shape().pixel) return CL_IMAGE_FORMAT_MISMATCH;
  if (!source->shape().contains(message.source_origin, message.region) ||
      !destination->shape().contains(message.destination_origin, message.region)) {
    return CL_INVALID_VALUE;
  }
  command = {CopySide::of(source, message.source_origin, device),
             CopySide::of(destination, message.destination_origin, device), sizes_of(message.region),
             source->shape().packed_size(message.region)};
  return CL_SUCCESS;
}

cl_int describe(SessionObjects& objects, const EnqueueCopyImageBuffer& message, Device& device,
                CopyPixelsCommand& command) {
  const Ref<Image> image(objects.images.find(message.image));
  const Ref<Buffer> buffer(objects.buffers.find(message.buffer));
  if (!image || !buffer) return CL_INVALID_MEM_OBJECT;
  if (!image->shape().contains(message.origin, message.region)) return CL_INVALID_VALUE;
  const std::uint64_t size = image->shape().packed_size(message.region);
  if (!buffer->contains(message.offset, size)) return CL_INVALID_VALUE;
  CopySide pixels = CopySide::of(image, message.origin, device), bytes = CopySide::of(buffer, message.offset, device);
  if (message.to_buffer == 0) std::swap(pixels, bytes);
  command = {std::move(pixels), std::move(bytes), sizes_of(message.region), size};
  return CL_SUCCESS;
}

cl_int describe(SessionObjects& objects, const EnqueueFillImage& message, Device&, FillImageCommand& command) {
  Ref<Image> image(objects.images.find(message.image));
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (!image->shape().contains(message.origin, message.region)) return CL_INVALID_VALUE;
  command = {std::move(image), sizes_of(message.origin), sizes_of(message.region), message.color};
  return CL_SUCCESS;
}

namespace {

template <class Command, class Message>
void enqueue(Session& session, const Message& message) REQUIRES(session_lock) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  LiveCommand<Command> command{};
  const cl_int error = describe(session.objects(), message, on.device(), command);
  if (error != CL_SUCCESS) return session.issuer().fail(on, event, error);
  session.issuer().submit(on, event, message.wait_list, std::move(command));
}

}  // namespace

void handle(Session& session, const EnqueueCopy& message) { enqueue<CopyBufferCommand>(session, message); }

void handle(Session& session, const EnqueueCopyRect& message) { enqueue<CopyRectCommand>(session, message); }

void handle(Session& session, const EnqueueFill& message) { enqueue<FillBufferCommand>(session, message); }

void handle(Session& session, const EnqueueCopyImage& message) { enqueue<CopyPixelsCommand>(session, message); }

void handle(Session& session, const EnqueueCopyImageBuffer& message) { enqueue<CopyPixelsCommand>(session, message); }

void handle(Session& session, const EnqueueFillImage& message) { enqueue<FillImageCommand>(session, message); }

}  // namespace remotecl::server
