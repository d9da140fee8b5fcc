// The commands that can be recorded into a command buffer.
#include "icd/command_buffer_functions.h"
#include "icd/enqueue_checks.h"
#include "icd/image_checks.h"
#include "runtime/client/commands/command_buffer.h"

namespace remotecl::icd {
namespace {

// The checked arguments that all recording calls share.
class Recording {
 public:
  Recording(cl_command_buffer_khr handle, cl_command_queue queue, cl_uint count, const cl_sync_point_khr* list,
            const cl_mutable_command_khr* mutable_handle)
      : commands_(object<CommandBuffer>(handle)) {
    // "CL_INVALID_OPERATION if command_buffer has been finalized."
    require(commands_.is_recording(), CL_INVALID_OPERATION);
    // "CL_INVALID_COMMAND_QUEUE if command_queue is not NULL."
    require(queue == nullptr, CL_INVALID_COMMAND_QUEUE);
    // "CL_INVALID_VALUE if mutable_handle is not NULL."
    require(mutable_handle == nullptr, CL_INVALID_VALUE);
    // "CL_INVALID_SYNC_POINT_WAIT_LIST_KHR if sync_point_wait_list is NULL and num_sync_points_in_wait_list is > 0, or
    // sync_point_wait_list is not NULL and num_sync_points_in_wait_list is 0, or if synchronization-point objects in
    // sync_point_wait_list are not valid synchronization-points."
    require((list == nullptr) == (count == 0), CL_INVALID_SYNC_POINT_WAIT_LIST_KHR);
    wait_ = {list, count};
    require(commands_.has_points(wait_), CL_INVALID_SYNC_POINT_WAIT_LIST_KHR);
  }

  CommandBuffer& commands() const { return commands_; }
  SyncPoints wait() const { return wait_; }
  CommandQueue& queue() const { return commands_.queue(); }
  MemoryObject& buffer(cl_mem handle) const { return buffer_of(queue(), handle); }

 private:
  CommandBuffer& commands_;
  SyncPoints wait_;
};

}  // namespace

cl_int CL_API_CALL command_barrier(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_uint count,
                                   const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                   cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    return recording.commands().record_point(true, recording.wait(), sync_point);
  });
}

cl_int CL_API_CALL command_copy_buffer(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem source,
                                       cl_mem destination, size_t source_offset, size_t destination_offset, size_t size,
                                       cl_uint count, const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                       cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    MemoryObject& from = recording.buffer(source);
    MemoryObject& to = recording.buffer(destination);
    check_copy(from, to, source_offset, destination_offset, size);
    if (size == 0) return recording.commands().record_point(false, recording.wait(), sync_point);
    return recording.commands().record_copy(from, to, source_offset, destination_offset, size, recording.wait(),
                                            sync_point);
  });
}

cl_int CL_API_CALL command_copy_buffer_rect(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem source,
                                            cl_mem destination, const size_t* source_origin,
                                            const size_t* destination_origin, const size_t* region,
                                            size_t source_row_pitch, size_t source_slice_pitch,
                                            size_t destination_row_pitch, size_t destination_slice_pitch, cl_uint count,
                                            const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                            cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    MemoryObject& from = recording.buffer(source);
    MemoryObject& to = recording.buffer(destination);
    const CopyRects at =
        checked_copy_rects(from, to, source_origin, destination_origin, region,
                           {source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch});
    return recording.commands().record_copy_rect(from, to, at.source, at.destination, at.region, recording.wait(),
                                                 sync_point);
  });
}

cl_int CL_API_CALL command_fill_buffer(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem buffer,
                                       const void* pattern, size_t pattern_size, size_t offset, size_t size,
                                       cl_uint count, const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                       cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    MemoryObject& to = recording.buffer(buffer);
    check_fill(to, pattern, pattern_size, offset, size);
    if (size == 0) return recording.commands().record_point(false, recording.wait(), sync_point);
    return recording.commands().record_fill(to, Bytes(static_cast<const std::byte*>(pattern), pattern_size), offset,
                                            size, recording.wait(), sync_point);
  });
}

cl_int CL_API_CALL command_nd_range_kernel(cl_command_buffer_khr command_buffer, cl_command_queue queue,
                                           const cl_properties* properties, cl_kernel kernel, cl_uint dimensions,
                                           const size_t* offset, const size_t* global, const size_t* local,
                                           cl_uint count, const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                           cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    // "CL_INVALID_VALUE if values specified in properties are not valid": no property is defined.
    require(properties == nullptr || *properties == 0, CL_INVALID_VALUE);
    Kernel& of = object<Kernel>(kernel);
    require(&of.context() == &recording.queue().context(), CL_INVALID_CONTEXT);
    const NDRange range = checked_range(recording.queue(), of, dimensions, offset, global, local);
    if (is_empty(range)) return recording.commands().record_point(false, recording.wait(), sync_point);
    return recording.commands().record_kernel(of, range, recording.wait(), sync_point);
  });
}

cl_int CL_API_CALL command_copy_buffer_to_image(cl_command_buffer_khr command_buffer, cl_command_queue queue,
                                                cl_mem source, cl_mem destination, size_t offset, const size_t* origin,
                                                const size_t* region, cl_uint count, const cl_sync_point_khr* list,
                                                cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    const PixelCopy copy = checked_pixel_copy(recording.queue(), destination, source, origin, region, offset);
    return recording.commands().record_copy_pixels(copy.image, copy.buffer, false, copy.origin, copy.region, offset,
                                                   recording.wait(), sync_point);
  });
}

cl_int CL_API_CALL command_copy_image_to_buffer(cl_command_buffer_khr command_buffer, cl_command_queue queue,
                                                cl_mem source, cl_mem destination, const size_t* origin,
                                                const size_t* region, size_t offset, cl_uint count,
                                                const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                                cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    const PixelCopy copy = checked_pixel_copy(recording.queue(), source, destination, origin, region, offset);
    return recording.commands().record_copy_pixels(copy.image, copy.buffer, true, copy.origin, copy.region, offset,
                                                   recording.wait(), sync_point);
  });
}

cl_int CL_API_CALL command_copy_image(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem source,
                                      cl_mem destination, const size_t* source_origin, const size_t* destination_origin,
                                      const size_t* region, cl_uint count, const cl_sync_point_khr* list,
                                      cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    const ImageCopy copy =
        checked_image_copy(recording.queue(), source, destination, source_origin, destination_origin, region);
    return recording.commands().record_copy_image(copy.source, copy.destination, copy.source_origin,
                                                  copy.destination_origin, copy.region, recording.wait(), sync_point);
  });
}

cl_int CL_API_CALL command_fill_image(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem image,
                                      const void* color, const size_t* origin, const size_t* region, cl_uint count,
                                      const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                      cl_mutable_command_khr* mutable_handle) {
  return enter([&] {
    const Recording recording(command_buffer, queue, count, list, mutable_handle);
    const ImageFill fill = checked_image_fill(recording.queue(), image, color, origin, region);
    return recording.commands().record_fill_image(fill.image, fill.color, fill.origin, fill.region, recording.wait(),
                                                  sync_point);
  });
}

}  // namespace remotecl::icd
