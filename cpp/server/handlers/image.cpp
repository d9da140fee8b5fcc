// Images and samplers.
#include <string>
#include <utility>
#include <vector>

#include "server/handlers/handlers.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

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
