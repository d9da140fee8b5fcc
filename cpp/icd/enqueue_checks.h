#pragma once

#include <algorithm>
#include <array>

#include "icd/boundary.h"
#include "runtime/client/commands/commands.h"
#include "runtime/protocol/device_figures.h"

// Checks that several buffer commands share.
namespace remotecl::icd {

// What sub-buffers are aligned to, in bytes; 1 if the device says less. Programs that were written for a driver that
// takes others may rely on it.
inline cl_uint base_alignment(const Device& device) {
  if (device.number<cl_uint>(kDeviceTakesAnySubBuffer) != 0) return 1;
  return std::max<cl_uint>(device.number<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 8) / 8, 1);
}

// The buffer of a command, checked to be in the queue's context and aligned for its device.
inline MemoryObject& buffer_of(CommandQueue& queue, cl_mem handle) {
  MemoryObject& buffer = object<MemoryObject>(handle);
  require(buffer.image() == nullptr, CL_INVALID_MEM_OBJECT);
  require(&buffer.context() == &queue.context(), CL_INVALID_CONTEXT);
  // "CL_MISALIGNED_SUB_BUFFER_OFFSET if buffer is a sub-buffer object and offset specified when the sub-buffer object
  // was created is not aligned to CL_DEVICE_MEM_BASE_ADDR_ALIGN value for device associated with queue."
  require(buffer.parent() == nullptr || buffer.offset() % base_alignment(queue.device()) == 0,
          CL_MISALIGNED_SUB_BUFFER_OFFSET);
  return buffer;
}

inline Extent extent_at(const std::size_t* values) {
  require(values != nullptr, CL_INVALID_VALUE);
  return {values[0], values[1], values[2]};
}

inline void require_host_may_read(const MemoryObject& buffer) {
  require((buffer.flags() & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) == 0, CL_INVALID_OPERATION);
}
inline void require_host_may_write(const MemoryObject& buffer) {
  require((buffer.flags() & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)) == 0, CL_INVALID_OPERATION);
}

// The checked range of a kernel command; defined next to clEnqueueNDRangeKernel, as the others are next to
// their commands. The range may be empty if the device allows that.
NDRange checked_range(CommandQueue& queue, Kernel& kernel, cl_uint dimensions, const std::size_t* offset,
                      const std::size_t* global, const std::size_t* local);
bool is_empty(const NDRange& range);
void check_copy(MemoryObject& from, MemoryObject& to, std::size_t source_offset, std::size_t destination_offset,
                std::size_t size);
struct CopyRects {
  Extent region;
  Rectangle source, destination;
};
// `pitches`: row and slice of the source, then row and slice of the destination.
CopyRects checked_copy_rects(MemoryObject& from, MemoryObject& to, const std::size_t* source_origin,
                             const std::size_t* destination_origin, const std::size_t* region,
                             const std::array<std::size_t, 4>& pitches);
void check_fill(MemoryObject& to, const void* pattern, std::size_t pattern_size, std::size_t offset, std::size_t size);
// "CL_INVALID_VALUE if values specified in map_flags are not valid"; CL_INVALID_OPERATION if the host may not
// access the memory in this way.
inline void require_may_map(const MemoryObject& memory, cl_map_flags flags) {
  constexpr cl_map_flags kKnown = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
  require((flags & ~kKnown) == 0, CL_INVALID_VALUE);
  require((flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0 || (flags & (CL_MAP_READ | CL_MAP_WRITE)) == 0,
          CL_INVALID_VALUE);
  if ((flags & CL_MAP_READ) != 0) require_host_may_read(memory);
  if ((flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0) require_host_may_write(memory);
}

// "CL_INVALID_VALUE if the region specified by (offset, size) is out of bounds."
inline void require_in_bounds(const MemoryObject& buffer, std::size_t offset, std::size_t size) {
  require(offset <= buffer.size() && size <= buffer.size() - offset, CL_INVALID_VALUE);
}

}  // namespace remotecl::icd
