#include "icd/enqueue_checks.h"
#include "icd/svm_checks.h"

namespace {

using namespace remotecl;
using icd::Dependencies;
using icd::extent_at;
using icd::object;
using icd::require;

Extent region_of(const size_t* values) {
  const Extent region = extent_at(values);
  // "CL_INVALID_VALUE if any region array element is 0."
  require(region[0] != 0 && region[1] != 0 && region[2] != 0, CL_INVALID_VALUE);
  return region;
}

// A pitch of 0 means packed; others must hold a row, or a slice of whole rows.
Rectangle rectangle(const size_t* origin, const Extent& region, size_t row_pitch, size_t slice_pitch) {
  Rectangle result{extent_at(origin), row_pitch, slice_pitch};
  require(row_pitch == 0 || row_pitch >= region[0], CL_INVALID_VALUE);
  if (row_pitch == 0) result.row_pitch = region[0];
  std::uint64_t slice = 0;
  require(!__builtin_mul_overflow(region[1], result.row_pitch, &slice), CL_INVALID_VALUE);
  // "CL_INVALID_VALUE if slice_pitch is not 0 and is less than region[1] * row_pitch and not a multiple of row_pitch."
  require(slice_pitch == 0 || (slice_pitch >= slice && slice_pitch % result.row_pitch == 0), CL_INVALID_VALUE);
  if (slice_pitch == 0) result.slice_pitch = slice;
  return result;
}

// "CL_INVALID_VALUE if the region being read or written is out of bounds."
void require_in_bounds(const MemoryObject& buffer, const Rectangle& at, const Extent& region) {
  std::uint64_t end = 0;
  std::uint64_t part = 0;
  bool overflow = __builtin_mul_overflow(at.origin[2] + region[2] - 1, at.slice_pitch, &end);
  overflow |= __builtin_mul_overflow(at.origin[1] + region[1] - 1, at.row_pitch, &part);
  overflow |= __builtin_add_overflow(end, part, &end);
  overflow |= __builtin_add_overflow(end, at.origin[0], &end);
  overflow |= __builtin_add_overflow(end, region[0], &end);
  overflow |= at.origin[2] > ~region[2] || at.origin[1] > ~region[1];
  require(!overflow && end <= buffer.size(), CL_INVALID_VALUE);
}

Rectangle shifted(Rectangle rectangle, std::uint64_t offset) {
  rectangle.origin[0] += offset;
  return rectangle;
}

// Whether two rectangles of one buffer with equal pitches share a byte, by the method in the specification's
// appendix on clEnqueueCopyBufferRect.
bool overlap(const Rectangle& a, std::uint64_t a_offset, const Rectangle& b, std::uint64_t b_offset,
             const Extent& region) {
  const std::uint64_t a_begin = a_offset + a.begin();
  const std::uint64_t b_begin = b_offset + b.begin();
  if (a_begin >= b_begin + b.extent(region) || b_begin >= a_begin + a.extent(region)) return false;
  const auto position = [&](std::uint64_t at) {
    return Extent{at % a.row_pitch, at % a.slice_pitch / a.row_pitch, at / a.slice_pitch};
  };
  const Extent first = position(a_begin);
  const Extent second = position(b_begin);
  for (int axis = 0; axis < 3; ++axis) {
    const std::uint64_t distance = first[axis] > second[axis] ? first[axis] - second[axis] : second[axis] - first[axis];
    // A row that extends beyond the pitch also meets the next row. That case is taken as an overlap.
    if (distance >= region[axis] && first[0] + region[0] <= a.row_pitch && second[0] + region[0] <= a.row_pitch) {
      return false;
    }
  }
  return true;
}

}  // namespace

namespace remotecl::icd {

CopyRects checked_copy_rects(MemoryObject& from, MemoryObject& to, const std::size_t* source_origin,
                             const std::size_t* destination_origin, const std::size_t* region,
                             const std::array<std::size_t, 4>& pitches) {
  const Extent size = region_of(region);
  const Rectangle read = rectangle(source_origin, size, pitches[0], pitches[1]);
  const Rectangle written = rectangle(destination_origin, size, pitches[2], pitches[3]);
  ::require_in_bounds(from, read, size);
  ::require_in_bounds(to, written, size);
  if (&from == &to) {
    // "CL_INVALID_VALUE if src_buffer and dst_buffer are the same buffer object and src_slice_pitch is not equal to
    // dst_slice_pitch and src_row_pitch is not equal to dst_row_pitch."
    require(read.slice_pitch == written.slice_pitch && read.row_pitch == written.row_pitch, CL_INVALID_VALUE);
  }
  if (&from.root() == &to.root() && read.slice_pitch == written.slice_pitch && read.row_pitch == written.row_pitch) {
    require(!overlap(read, from.range(0, 0).offset, written, to.range(0, 0).offset, size), CL_MEM_COPY_OVERLAP);
  }
  return {size, read, written};
}

}  // namespace remotecl::icd

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
                                                        const size_t* buffer_origin, const size_t* host_origin,
                                                        const size_t* region, size_t buffer_row_pitch,
                                                        size_t buffer_slice_pitch, size_t host_row_pitch,
                                                        size_t host_slice_pitch, void* pointer, cl_uint count,
                                                        const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& from = icd::buffer_of(queue, buffer);
    Dependencies dependencies(queue.context(), count, list, event);
    require(pointer != nullptr, CL_INVALID_VALUE);
    const Extent size = region_of(region);
    const Rectangle at = rectangle(buffer_origin, size, buffer_row_pitch, buffer_slice_pitch);
    const Rectangle host = rectangle(host_origin, size, host_row_pitch, host_slice_pitch);
    require_in_bounds(from, at, size);
    icd::require_host_may_read(from);
    dependencies.require_no_failure(blocking);
    if (const SvmAddress to = icd::unmapped_svm(queue.context(), pointer, host.begin() + host.extent(size));
        to.memory) {
      return icd::maybe_blocking(blocking, dependencies, [&](Event** done) {
        return enqueue_copy_rect(queue, from, *to.memory, at, shifted(host, to.offset), size, dependencies.wait(), done,
                                 CL_COMMAND_READ_BUFFER_RECT);
      });
    }
    return dependencies.finish(
        enqueue_read_rect(queue, from, blocking, at, host, size, pointer, dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue command_queue, cl_mem buffer,
                                                         cl_bool blocking, const size_t* buffer_origin,
                                                         const size_t* host_origin, const size_t* region,
                                                         size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                                         size_t host_row_pitch, size_t host_slice_pitch,
                                                         const void* pointer, cl_uint count, const cl_event* list,
                                                         cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& to = icd::buffer_of(queue, buffer);
    Dependencies dependencies(queue.context(), count, list, event);
    require(pointer != nullptr, CL_INVALID_VALUE);
    const Extent size = region_of(region);
    const Rectangle at = rectangle(buffer_origin, size, buffer_row_pitch, buffer_slice_pitch);
    const Rectangle host = rectangle(host_origin, size, host_row_pitch, host_slice_pitch);
    require_in_bounds(to, at, size);
    icd::require_host_may_write(to);
    dependencies.require_no_failure(blocking);
    if (const SvmAddress from = icd::unmapped_svm(queue.context(), pointer, host.begin() + host.extent(size));
        from.memory) {
      return icd::maybe_blocking(blocking, dependencies, [&](Event** done) {
        return enqueue_copy_rect(queue, *from.memory, to, shifted(host, from.offset), at, size, dependencies.wait(),
                                 done, CL_COMMAND_WRITE_BUFFER_RECT);
      });
    }
    return icd::maybe_blocking_write(queue, blocking, dependencies, [&](Event** done) {
      return enqueue_write_rect(queue, to, blocking, at, host, size, pointer, dependencies.wait(), done);
    });
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue command_queue, cl_mem source,
                                                        cl_mem destination, const size_t* source_origin,
                                                        const size_t* destination_origin, const size_t* region,
                                                        size_t source_row_pitch, size_t source_slice_pitch,
                                                        size_t destination_row_pitch, size_t destination_slice_pitch,
                                                        cl_uint count, const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& from = icd::buffer_of(queue, source);
    MemoryObject& to = icd::buffer_of(queue, destination);
    Dependencies dependencies(queue.context(), count, list, event);
    const icd::CopyRects at =
        icd::checked_copy_rects(from, to, source_origin, destination_origin, region,
                                {source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch});
    return dependencies.finish(enqueue_copy_rect(queue, from, to, at.source, at.destination, at.region,
                                                 dependencies.wait(), dependencies.event()));
  });
}
