// Images, whose pixels lie packed, and samplers. Regions are not checked.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "fakes/driver/objects.h"
#include "runtime/protocol/image_shape.h"

using namespace remotecl::fake;

namespace {

// Where the pixels of a region lie; of packed pixels somewhere else the same with other pitches.
struct Pixels {
  std::size_t origin[3], region[3], pixel, row, slice;
  Pixels(cl_mem image, const std::size_t* from, const std::size_t* extent)
      : pixel(image->pixel), row(image->row), slice(image->slice) {
    std::copy_n(from, 3, origin);
    std::copy_n(extent, 3, region);
  }
  std::size_t at(std::size_t y, std::size_t z) const {
    return origin[0] * pixel + (origin[1] + y) * row + (origin[2] + z) * slice;
  }
  std::size_t packed(std::size_t y, std::size_t z) const { return (y + z * region[1]) * region[0] * pixel; }
  template <class F>
  void each_row(F&& f) const {
    for (std::size_t z = 0; z < region[2]; ++z) {
      for (std::size_t y = 0; y < region[1]; ++y) f(at(y, z), packed(y, z), region[0] * pixel);
    }
  }
};

cl_int command(cl_command_queue queue, cl_mem image, cl_mem other, cl_uint count, const cl_event* waits,
               cl_event* event, std::function<void()> work) {
  if (!is(queue, kQueue)) return CL_INVALID_COMMAND_QUEUE;
  if (!is(image, kMemory) || !image->is_image) return CL_INVALID_MEM_OBJECT;
  if (other != nullptr && !is(other, kMemory)) return CL_INVALID_MEM_OBJECT;
  if (image->context.get() != queue->context.get()) return CL_INVALID_CONTEXT;
  return enqueue(queue, count, waits, event,
                 [image = Held<_cl_mem>(image), other = Held<_cl_mem>(other), work = std::move(work)] {
                   work();
                   return CL_COMPLETE;
                 });
}

}  // namespace

cl_mem clCreateImage(cl_context context, cl_mem_flags, const cl_image_format* format, const cl_image_desc* description,
                     void*, cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (!is(context, kContext)) return failed<_cl_mem>(CL_INVALID_CONTEXT, error);
  const std::uint32_t pixel = remotecl::pixel_size(format->image_channel_order, format->image_channel_data_type);
  const remotecl::ImageShape shape{description->image_type,  pixel,
                                   description->image_width, description->image_height,
                                   description->image_depth, description->image_array_size};
  const auto size = shape.packed_size();
  if (pixel == 0) return failed<_cl_mem>(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, error);
  if (!size || *size > allocation_max()) return failed<_cl_mem>(CL_INVALID_IMAGE_SIZE, error);
  auto* image = new _cl_mem(context, *size);
  image->is_image = true;
  image->pixel = pixel;
  const remotecl::Extent whole = shape.whole();
  image->row = whole[0] * pixel;
  if (cl_mem buffer = description->buffer) {
    image->parent = Held<_cl_mem>(buffer);
    image->data = buffer->data;
    if (description->image_row_pitch != 0) image->row = description->image_row_pitch;
  } else {
    image->own = std::make_unique<std::byte[]>(*size);
    image->data = image->own.get();
  }
  image->slice = image->row * whole[1];
  return made(image, error);
}

cl_int clGetSupportedImageFormats(cl_context context, cl_mem_flags, cl_mem_object_type type, cl_uint count,
                                  cl_image_format* formats, cl_uint* count_ret) {
  if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER) return CL_INVALID_VALUE;
  const cl_channel_type own = context->device->is_cpu() ? CL_FLOAT : CL_HALF_FLOAT;
  const cl_image_format all[] = {{CL_RGBA, CL_UNORM_INT8}, {CL_R, CL_FLOAT}, {CL_R, CL_UNSIGNED_INT32}, {CL_RGBA, own}};
  for (cl_uint i = 0; formats != nullptr && i < count && i < std::size(all); ++i) formats[i] = all[i];
  if (count_ret != nullptr) *count_ret = static_cast<cl_uint>(std::size(all));
  return CL_SUCCESS;
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool, const std::size_t* origin,
                          const std::size_t* region, std::size_t, std::size_t, void* to, cl_uint count,
                          const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  const Pixels pixels(image, origin, region);
  return command(queue, image, nullptr, count, waits, event, [=] {
    pixels.each_row([=](std::size_t at, std::size_t packed, std::size_t size) {
      std::memcpy(static_cast<std::byte*>(to) + packed, image->data + at, size);
    });
  });
}

cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool, const std::size_t* origin,
                           const std::size_t* region, std::size_t, std::size_t, const void* from, cl_uint count,
                           const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  const Pixels pixels(image, origin, region);
  return command(queue, image, nullptr, count, waits, event, [=] {
    pixels.each_row([=](std::size_t at, std::size_t packed, std::size_t size) {
      std::memcpy(image->data + at, static_cast<const std::byte*>(from) + packed, size);
    });
  });
}

cl_int clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem destination, const std::size_t* source_origin,
                          const std::size_t* destination_origin, const std::size_t* region, cl_uint count,
                          const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  const Pixels from(source, source_origin, region), to(destination, destination_origin, region);
  return command(queue, source, destination, count, waits, event, [=] {
    for (std::size_t z = 0; z < from.region[2]; ++z) {
      for (std::size_t y = 0; y < from.region[1]; ++y) {
        std::memmove(destination->data + to.at(y, z), source->data + from.at(y, z), from.region[0] * from.pixel);
      }
    }
  });
}

cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void* color, const std::size_t* origin,
                          const std::size_t* region, cl_uint count, const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  const Pixels pixels(image, origin, region);
  std::byte first{};
  std::memcpy(&first, color, 1);
  return command(queue, image, nullptr, count, waits, event, [=] {
    pixels.each_row([=](std::size_t at, std::size_t, std::size_t size) {
      std::memset(image->data + at, static_cast<int>(first), size);
    });
  });
}

cl_int clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer, const std::size_t* origin,
                                  const std::size_t* region, std::size_t offset, cl_uint count, const cl_event* waits,
                                  cl_event* event) {
  const DriverLock lock(driver_mutex());
  const Pixels pixels(image, origin, region);
  return command(queue, image, buffer, count, waits, event, [=] {
    pixels.each_row([=](std::size_t at, std::size_t packed, std::size_t size) {
      std::memmove(buffer->data + offset + packed, image->data + at, size);
    });
  });
}

cl_int clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image, std::size_t offset,
                                  const std::size_t* origin, const std::size_t* region, cl_uint count,
                                  const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  const Pixels pixels(image, origin, region);
  return command(queue, image, buffer, count, waits, event, [=] {
    pixels.each_row([=](std::size_t at, std::size_t packed, std::size_t size) {
      std::memmove(image->data + at, buffer->data + offset + packed, size);
    });
  });
}

cl_sampler clCreateSampler(cl_context context, cl_bool, cl_addressing_mode addressing, cl_filter_mode filter,
                           cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (!is(context, kContext)) return failed<_cl_sampler>(CL_INVALID_CONTEXT, error);
  if (addressing < CL_ADDRESS_NONE || addressing > CL_ADDRESS_MIRRORED_REPEAT ||
      (filter != CL_FILTER_NEAREST && filter != CL_FILTER_LINEAR)) {
    return failed<_cl_sampler>(CL_INVALID_VALUE, error);
  }
  return made(new _cl_sampler(context), error);
}

cl_int clReleaseSampler(cl_sampler sampler) {
  const DriverLock lock(driver_mutex());
  if (!is(sampler, kSampler)) return CL_INVALID_SAMPLER;
  release(sampler);
  return CL_SUCCESS;
}
