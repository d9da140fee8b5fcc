#include "icd/enqueue_checks.h"
#include "icd/image_checks.h"
#include "icd/svm_checks.h"
#include "icd/wait_list.h"
#include "runtime/client/commands/image_commands.h"

namespace {

using namespace remotecl;
using icd::Dependencies;
using icd::extent_at;
using icd::object;
using icd::require;

// The image of a command, checked to be in the queue's context and usable on its device.
MemoryObject& image_of(CommandQueue& queue, cl_mem handle) {
  MemoryObject& image = object<MemoryObject>(handle);
  require(image.image() != nullptr, CL_INVALID_MEM_OBJECT);
  require(&image.context() == &queue.context(), CL_INVALID_CONTEXT);
  icd::require_takes_image(queue.device(), image);
  return image;
}

struct Region {
  Extent origin, size;
};
// "CL_INVALID_VALUE if the region being read or written specified by origin and region is out of bounds", if one of its
// elements is 0, or if origin and region do not follow the rules of the image's type.
Region region_in(const MemoryObject& image, const size_t* origin, const size_t* region) {
  const Region result{extent_at(origin), extent_at(region)};
  require(image.image()->shape.contains(result.origin, result.size), CL_INVALID_VALUE);
  return result;
}

// The pitches of the application's memory. A row pitch "must be greater than or equal to the element size in bytes x
// width"; a slice pitch "must be 0 if image is a 1D or 2D image" and else hold the rows of a slice.
Pitches host_pitches(const MemoryObject& image, const Region& region, size_t row_pitch, size_t slice_pitch) {
  const ImageLayout& layout = *image.image();
  const Pitches pitches = layout.pitches_for(region.size, row_pitch, slice_pitch);
  const Extent rows = layout.bytes(region.size);
  require(pitches.row >= rows[0], CL_INVALID_VALUE);
  require(slice_pitch == 0 || layout.shape.has_slices(), CL_INVALID_VALUE);
  std::uint64_t slice_min = 0;
  require(!__builtin_mul_overflow(pitches.row, rows[1], &slice_min) && pitches.slice >= slice_min, CL_INVALID_VALUE);
  return pitches;
}

// Like icd::unmapped_svm().
SvmAddress unmapped_svm(const MemoryObject& image, const Region& region, const Pitches& pitches, const void* pointer) {
  const ImageLayout& layout = *image.image();
  return icd::unmapped_svm(image.context(), pointer, layout.at({}, pitches).extent(layout.bytes(region.size)));
}

// Copies between an image and its rows in shared virtual memory. No command does that if there are gaps between the
// rows: then they pass a buffer without gaps.
struct SvmRows {
  SvmRows(MemoryObject& image, const Region& region, const Pitches& pitches, const SvmAddress& svm)
      : image(image), at(region), svm(svm), rows(image.image()->at({}, pitches)), size(image.image()->bytes(at.size)) {
    const std::uint64_t packed_size = image.image()->shape.packed_size(at.size);
    if (rows.extent(size) != packed_size) {
      packed = make_ref<MemoryObject>(Ref<Context>(&image.context()), CL_MEM_HOST_NO_ACCESS, packed_size, nullptr,
                                      std::vector<cl_mem_properties>());
    }
    rows.origin[0] += svm.offset;
  }
  Rectangle packed_rows() const { return {{}, size[0], size[0] * size[1]}; }

  cl_int read(CommandQueue& queue, WaitList wait, Event** done) const {
    constexpr cl_command_type kType = CL_COMMAND_READ_IMAGE;
    if (!packed) {
      return enqueue_copy_image_to_buffer(queue, image, *svm.memory, at.origin, at.size, svm.offset, wait, done, kType);
    }
    Event* copied = nullptr;
    const cl_int code = enqueue_copy_image_to_buffer(queue, image, *packed, at.origin, at.size, 0, wait, &copied);
    if (code != CL_SUCCESS) return code;
    const Ref<Event> first = Ref<Event>::adopt(copied);
    return enqueue_copy_rect(queue, *packed, *svm.memory, packed_rows(), rows, size, {&copied, 1}, done, kType);
  }
  cl_int write(CommandQueue& queue, WaitList wait, Event** done) const {
    constexpr cl_command_type kType = CL_COMMAND_WRITE_IMAGE;
    if (!packed) {
      return enqueue_copy_buffer_to_image(queue, *svm.memory, image, svm.offset, at.origin, at.size, wait, done, kType);
    }
    Event* copied = nullptr;
    const cl_int code = enqueue_copy_rect(queue, *svm.memory, *packed, rows, packed_rows(), size, wait, &copied);
    if (code != CL_SUCCESS) return code;
    const Ref<Event> first = Ref<Event>::adopt(copied);
    return enqueue_copy_buffer_to_image(queue, *packed, image, 0, at.origin, at.size, {&copied, 1}, done, kType);
  }

  MemoryObject& image;
  const Region at;
  const SvmAddress& svm;
  Rectangle rows;
  const Extent size;  // of the rows, in bytes
  Ref<MemoryObject> packed;
};

// The buffer of a copy; the packed pixels must lie in it.
MemoryObject& buffer_for(CommandQueue& queue, cl_mem handle, const MemoryObject& image, const Region& region,
                         size_t offset) {
  MemoryObject& buffer = icd::buffer_of(queue, handle);
  // "CL_INVALID_MEM_OBJECT if ... is a 1D image buffer object created from [the] buffer."
  require(image.parent() != &buffer || image.image()->shape.type != CL_MEM_OBJECT_IMAGE1D_BUFFER,
          CL_INVALID_MEM_OBJECT);
  icd::require_in_bounds(buffer, offset, image.image()->shape.packed_size(region.size));
  return buffer;
}

bool overlap(const Extent& a, const Extent& b, const Extent& size) {
  for (int axis = 0; axis < 3; ++axis) {
    if (a[axis] >= b[axis] + size[axis] || b[axis] >= a[axis] + size[axis]) return false;
  }
  return true;
}

}  // namespace

namespace remotecl::icd {

ImageCopy checked_image_copy(CommandQueue& queue, cl_mem source, cl_mem destination, const std::size_t* source_origin,
                             const std::size_t* destination_origin, const std::size_t* region) {
  MemoryObject& from = image_of(queue, source);
  MemoryObject& to = image_of(queue, destination);
  // "CL_IMAGE_FORMAT_MISMATCH if src_image and dst_image do not use the same image format."
  const cl_image_format& a = from.image()->format;
  const cl_image_format& b = to.image()->format;
  require(a.image_channel_order == b.image_channel_order && a.image_channel_data_type == b.image_channel_data_type,
          CL_IMAGE_FORMAT_MISMATCH);
  const Region read = region_in(from, source_origin, region);
  const Region written = region_in(to, destination_origin, region);
  // "CL_MEM_COPY_OVERLAP if src_image and dst_image are the same image object and the source and destination regions
  // overlap."
  require(&from != &to || !overlap(read.origin, written.origin, read.size), CL_MEM_COPY_OVERLAP);
  return {from, to, read.origin, written.origin, read.size};
}

ImageFill checked_image_fill(CommandQueue& queue, cl_mem image, const void* color, const std::size_t* origin,
                             const std::size_t* region) {
  MemoryObject& to = image_of(queue, image);
  require(color != nullptr, CL_INVALID_VALUE);
  const Region at = region_in(to, origin, region);
  // "The fill color is a single floating-point value if the channel order is CL_DEPTH, otherwise four components."
  std::array<std::uint32_t, 4> components{};
  const bool is_depth = to.image()->format.image_channel_order == CL_DEPTH;
  std::memcpy(components.data(), color, is_depth ? sizeof components[0] : sizeof components);
  return {to, components, at.origin, at.size};
}

PixelCopy checked_pixel_copy(CommandQueue& queue, cl_mem image, cl_mem buffer, const std::size_t* origin,
                             const std::size_t* region, std::size_t offset) {
  MemoryObject& pixels = image_of(queue, image);
  const Region at = region_in(pixels, origin, region);
  return {pixels, buffer_for(queue, buffer, pixels, at, offset), at.origin, at.size};
}

}  // namespace remotecl::icd

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking,
                                                   const size_t* origin, const size_t* region, size_t row_pitch,
                                                   size_t slice_pitch, void* pointer, cl_uint count,
                                                   const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& from = image_of(queue, image);
    Dependencies dependencies(queue.context(), count, list, event);
    require(pointer != nullptr, CL_INVALID_VALUE);
    const Region at = region_in(from, origin, region);
    const Pitches pitches = host_pitches(from, at, row_pitch, slice_pitch);
    icd::require_host_may_read(from);
    dependencies.require_no_failure(blocking);
    if (const SvmAddress to = unmapped_svm(from, at, pitches, pointer); to.memory) {
      const SvmRows rows(from, at, pitches, to);
      return icd::maybe_blocking(blocking, dependencies,
                                 [&](Event** done) { return rows.read(queue, dependencies.wait(), done); });
    }
    return dependencies.finish(enqueue_read_image(queue, from, blocking, at.origin, at.size, pitches, pointer,
                                                  dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking,
                                                    const size_t* origin, const size_t* region, size_t row_pitch,
                                                    size_t slice_pitch, const void* pointer, cl_uint count,
                                                    const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& to = image_of(queue, image);
    Dependencies dependencies(queue.context(), count, list, event);
    require(pointer != nullptr, CL_INVALID_VALUE);
    const Region at = region_in(to, origin, region);
    const Pitches pitches = host_pitches(to, at, row_pitch, slice_pitch);
    icd::require_host_may_write(to);
    dependencies.require_no_failure(blocking);
    if (const SvmAddress from = unmapped_svm(to, at, pitches, pointer); from.memory) {
      const SvmRows rows(to, at, pitches, from);
      return icd::maybe_blocking(blocking, dependencies,
                                 [&](Event** done) { return rows.write(queue, dependencies.wait(), done); });
    }
    return icd::maybe_blocking_write(queue, blocking, dependencies, [&](Event** done) {
      return enqueue_write_image(queue, to, blocking, at.origin, at.size, pitches, pointer, dependencies.wait(), done);
    });
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue command_queue, cl_mem source, cl_mem destination,
                                                   const size_t* source_origin, const size_t* destination_origin,
                                                   const size_t* region, cl_uint count, const cl_event* list,
                                                   cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    const icd::ImageCopy copy =
        icd::checked_image_copy(queue, source, destination, source_origin, destination_origin, region);
    Dependencies dependencies(queue.context(), count, list, event);
    return dependencies.finish(enqueue_copy_image(queue, copy.source, copy.destination, copy.source_origin,
                                                  copy.destination_origin, copy.region, dependencies.wait(),
                                                  dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue command_queue, cl_mem image, const void* color,
                                                   const size_t* origin, const size_t* region, cl_uint count,
                                                   const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    const icd::ImageFill fill = icd::checked_image_fill(queue, image, color, origin, region);
    Dependencies dependencies(queue.context(), count, list, event);
    return dependencies.finish(enqueue_fill_image(queue, fill.image, fill.color, fill.origin, fill.region,
                                                  dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue command_queue, cl_mem source,
                                                           cl_mem destination, const size_t* origin,
                                                           const size_t* region, size_t offset, cl_uint count,
                                                           const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    const icd::PixelCopy copy = icd::checked_pixel_copy(queue, source, destination, origin, region, offset);
    Dependencies dependencies(queue.context(), count, list, event);
    return dependencies.finish(enqueue_copy_image_to_buffer(queue, copy.image, copy.buffer, copy.origin, copy.region,
                                                            offset, dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue command_queue, cl_mem source,
                                                           cl_mem destination, size_t offset, const size_t* origin,
                                                           const size_t* region, cl_uint count, const cl_event* list,
                                                           cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    const icd::PixelCopy copy = icd::checked_pixel_copy(queue, destination, source, origin, region, offset);
    Dependencies dependencies(queue.context(), count, list, event);
    return dependencies.finish(enqueue_copy_buffer_to_image(queue, copy.buffer, copy.image, offset, copy.origin,
                                                            copy.region, dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY void* CL_API_CALL clEnqueueMapImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking,
                                                 cl_map_flags flags, const size_t* origin, const size_t* region,
                                                 size_t* row_pitch, size_t* slice_pitch, cl_uint count,
                                                 const cl_event* list, cl_event* event, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& of = image_of(queue, image);
    Dependencies dependencies(queue.context(), count, list, event);
    const Region at = region_in(of, origin, region);
    // "CL_INVALID_VALUE if image_row_pitch is NULL", "if image is a 3D image, 1D or 2D image array object and
    // image_slice_pitch is NULL."
    const bool has_slices = of.image()->shape.has_slices();
    require(row_pitch != nullptr && (slice_pitch != nullptr || !has_slices), CL_INVALID_VALUE);
    icd::require_may_map(of, flags);
    dependencies.require_no_failure(blocking);
    void* mapped = nullptr;
    Pitches pitches{};
    const cl_int code = dependencies.finish(enqueue_map_image(
        queue, of, blocking, flags, at.origin, at.size, dependencies.wait(), dependencies.event(), pitches, &mapped));
    require(code == CL_SUCCESS, code == CL_OUT_OF_RESOURCES ? CL_MAP_FAILURE : code);
    *row_pitch = pitches.row;
    // "For a 1D and 2D image, zero is returned if this argument is not NULL."
    if (slice_pitch != nullptr) *slice_pitch = has_slices ? pitches.slice : 0;
    return mapped;
  });
}
