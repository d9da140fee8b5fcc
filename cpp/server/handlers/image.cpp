// Images and samplers, except for reads and writes of images.
#include <array>
#include <vector>

#include "server/handlers/handlers.h"
#include "server/memory/image_copy.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

using Sizes = std::array<std::size_t, 3>;

Sizes sizes_of(const Extent& extent) { return {extent[0], extent[1], extent[2]}; }

struct CopyPixelsCommand {
  static constexpr bool kLong = false;

  Place source, destination;
  Sizes region;
  std::uint64_t size;  // in bytes

  cl_int issue(Issue& issue) {
    const cl_command_queue queue = issue.queue.native();
    cl_mem from = nullptr, to = nullptr;
    cl_int error = source.memory->native(issue.queue.device(), from);
    if (error == CL_SUCCESS) error = destination.memory->native(issue.queue.device(), to);
    if (error != CL_SUCCESS) return error;
    return copy_pixels(queue, source, from, destination, to, region, size,
                       {issue.wait_count(), issue.wait_list(), issue.out()});
  }
};

struct FillImageCommand {
  static constexpr bool kLong = false;

  Ref<Image> image;
  Sizes origin, region;
  std::array<std::uint32_t, 4> color;

  cl_int issue(Issue& issue) {
    // It would end the daemon and all of its sessions.
    if (image->bytes() != nullptr && issue.queue.device().traits().quirks.crashes_filling_buffer_images)
      return CL_INVALID_OPERATION;
    cl_mem memory = nullptr;
    const cl_int error = image->native(issue.queue.device(), memory);
    if (error != CL_SUCCESS) return error;
    return clEnqueueFillImage(issue.queue.native(), memory, color.data(), origin.data(), region.data(),
                              issue.wait_count(), issue.wait_list(), issue.out());
  }
};

std::string in_use(const char* noun, ObjectId id) {
  return std::string(noun) + " id " + std::to_string(id) + " cannot be used or is in use";
}

// Whether the pixels of an image made from a buffer lie in the buffer.
bool fits(const Buffer& buffer, const ImageShape& shape, std::uint64_t row_pitch) {
  const std::uint64_t row = shape.width * shape.pixel;
  if (shape.type == CL_MEM_OBJECT_IMAGE1D_BUFFER) return buffer.contains(0, row);
  if (shape.type != CL_MEM_OBJECT_IMAGE2D || row_pitch < row) return false;
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(row_pitch, shape.height - 1, &end) || __builtin_add_overflow(end, row, &end)) return false;
  return buffer.contains(0, end);
}

}  // namespace

// An invalid image is not created; commands that name it will fail.
void handle(Session& session, const CreateImage& message) {
  const cl_image_format format{message.channel_order, message.channel_type};
  const ImageShape shape{message.type,  pixel_size(message.channel_order, message.channel_type),
                         message.width, message.height,
                         message.depth, message.array_size};
  if (!shape.packed_size()) return;
  Ref<Buffer> buffer;
  if (message.buffer != 0) {
    buffer = Ref<Buffer>(session.objects().buffers.find(message.buffer));
    if (!buffer || !fits(*buffer, shape, message.row_pitch)) return;
  }
  auto image =
      make_ref<Image>(shape, format, message.flags, buffer, buffer ? message.row_pitch : 0, session.counters());
  if (!session.objects().images.insert(message.image, std::move(image)))
    throw ProtocolError(in_use("image", message.image));
}

void handle(Session& session, const ReleaseImage& message) {
  session.objects().images.take(message.image);
  ++session.objects().released_arguments;
}

void handle(Session& session, const CreateSampler& message) {
  auto sampler = make_ref<Sampler>(message.normalized_coordinates != 0 ? CL_TRUE : CL_FALSE, message.addressing_mode,
                                   message.filter_mode);
  if (!session.objects().samplers.insert(message.sampler, std::move(sampler)))
    throw ProtocolError(in_use("sampler", message.sampler));
}

void handle(Session& session, const ReleaseSampler& message) {
  session.objects().samplers.take(message.sampler);
  ++session.objects().released_arguments;
}

void handle(Session& session, const EnqueueCopyImage& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<Image> source(session.objects().images.find(message.source)),
      destination(session.objects().images.find(message.destination));
  if (!source || !destination) return session.issuer().fail(on, event, CL_INVALID_MEM_OBJECT);
  if (source->shape().pixel != destination->shape().pixel)
    return session.issuer().fail(on, event, CL_IMAGE_FORMAT_MISMATCH);
  if (!source->shape().contains(message.source_origin, message.region) ||
      !destination->shape().contains(message.destination_origin, message.region)) {
    return session.issuer().fail(on, event, CL_INVALID_VALUE);
  }
  session.issuer().submit(on, event, message.wait_list,
                          CopyPixelsCommand{Place::of(source, message.source_origin, on.device()),
                                            Place::of(destination, message.destination_origin, on.device()),
                                            sizes_of(message.region), source->shape().packed_size(message.region)});
}

void handle(Session& session, const EnqueueFillImage& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<Image> image(session.objects().images.find(message.image));
  if (!image) return session.issuer().fail(on, event, CL_INVALID_MEM_OBJECT);
  if (!image->shape().contains(message.origin, message.region))
    return session.issuer().fail(on, event, CL_INVALID_VALUE);
  session.issuer().submit(
      on, event, message.wait_list,
      FillImageCommand{std::move(image), sizes_of(message.origin), sizes_of(message.region), message.color});
}

void handle(Session& session, const EnqueueCopyImageBuffer& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<Image> image(session.objects().images.find(message.image));
  Ref<Buffer> buffer(session.objects().buffers.find(message.buffer));
  if (!image || !buffer) return session.issuer().fail(on, event, CL_INVALID_MEM_OBJECT);
  if (!image->shape().contains(message.origin, message.region))
    return session.issuer().fail(on, event, CL_INVALID_VALUE);
  const std::uint64_t size = image->shape().packed_size(message.region);
  if (!buffer->contains(message.offset, size)) return session.issuer().fail(on, event, CL_INVALID_VALUE);
  Place pixels = Place::of(image, message.origin, on.device()), bytes = Place::of(buffer, message.offset, on.device());
  if (message.to_buffer == 0) std::swap(pixels, bytes);
  session.issuer().submit(on, event, message.wait_list,
                          CopyPixelsCommand{std::move(pixels), std::move(bytes), sizes_of(message.region), size});
}

void handle(Session& session, const GetImageFormats& message) {
  std::vector<cl_image_format> formats;
  cl_int error = CL_SUCCESS;
  const cl_context context = session.objects().device(message.device).context(error);
  cl_uint count = 0;
  if (context != nullptr) {
    error = clGetSupportedImageFormats(context, message.flags, message.type, 0, nullptr, &count);
  }
  if (error == CL_SUCCESS && count != 0) {
    formats.resize(count);
    error = clGetSupportedImageFormats(context, message.flags, message.type, count, formats.data(), nullptr);
  }
  std::vector<std::uint32_t> pairs;
  if (error == CL_SUCCESS) {
    for (const cl_image_format& format : formats) {
      pairs.push_back(format.image_channel_order);
      pairs.push_back(format.image_channel_data_type);
    }
  }
  session.outbox().add(ImageFormats{message.token, error, std::span<const std::uint32_t>(pairs)});
}

}  // namespace remotecl::server
