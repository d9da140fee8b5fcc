#pragma once

#include <functional>
#include <span>

#include "runtime/client/objects/command_queue.h"
#include "runtime/client/objects/event.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/client/program/kernel.h"
#include "runtime/client/support/rectangle.h"

// The commands, after the entry points have checked their arguments. Each command brings the bytes that it
// reads to the queue's device, is sent, and has its writes recorded. All return CL_SUCCESS or an OpenCL
// error. `wait` events belong to the queue's context. `event`, if not null, receives the command's event (one
// reference for the caller), but only on success.
namespace remotecl {

struct NDRange {
  cl_uint dimensions;
  Extent offset;
  Extent global;
  bool has_local;
  Extent local;
};

// The encoding for the wire, a view of `argument`.
KernelArgument encode_argument(std::uint32_t index, const Kernel::Argument& argument);

cl_int enqueue_kernel(CommandQueue& queue, Kernel& kernel, const NDRange& range, cl_command_type type, WaitList wait,
                      Event** event);
// clGetKernelSuggestedLocalWorkSizeKHR: asks the native driver. Fills as many sizes as there are dimensions.
cl_int suggest_local_size(CommandQueue& queue, Kernel& kernel, const NDRange& range, std::size_t* suggested);
cl_int enqueue_read(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                    void* to, WaitList wait, Event** event, cl_command_type type = CL_COMMAND_READ_BUFFER,
                    std::shared_ptr<void> keep_alive = nullptr);
cl_int enqueue_write(CommandQueue& queue, MemoryObject& buffer, bool blocking, std::uint64_t offset, std::uint64_t size,
                     const void* from, WaitList wait, Event** event, cl_command_type type = CL_COMMAND_WRITE_BUFFER);
cl_int enqueue_read_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                         const Rectangle& host_rectangle, const Extent& region, void* to, WaitList wait, Event** event);
cl_int enqueue_write_rect(CommandQueue& queue, MemoryObject& buffer, bool blocking, const Rectangle& buffer_rectangle,
                          const Rectangle& host_rectangle, const Extent& region, const void* from, WaitList wait,
                          Event** event);
cl_int enqueue_copy(CommandQueue& queue, MemoryObject& source, MemoryObject& destination, std::uint64_t source_offset,
                    std::uint64_t destination_offset, std::uint64_t size, WaitList wait, Event** event,
                    cl_command_type type = CL_COMMAND_COPY_BUFFER);
cl_int enqueue_copy_rect(CommandQueue& queue, MemoryObject& source, MemoryObject& destination,
                         const Rectangle& source_rectangle, const Rectangle& destination_rectangle,
                         const Extent& region, WaitList wait, Event** event,
                         cl_command_type type = CL_COMMAND_COPY_BUFFER_RECT);
cl_int enqueue_fill(CommandQueue& queue, MemoryObject& buffer, Bytes pattern, std::uint64_t offset, std::uint64_t size,
                    WaitList wait, Event** event, cl_command_type type = CL_COMMAND_FILL_BUFFER);
cl_int enqueue_map(CommandQueue& queue, MemoryObject& buffer, bool blocking, cl_map_flags flags, std::uint64_t offset,
                   std::uint64_t size, WaitList wait, Event** event, void** mapped,
                   cl_command_type type = CL_COMMAND_MAP_BUFFER);
// Returns CL_INVALID_VALUE if `mapped` is not a mapping of the buffer.
cl_int enqueue_unmap(CommandQueue& queue, MemoryObject& buffer, void* mapped, WaitList wait, Event** event,
                     cl_command_type type = CL_COMMAND_UNMAP_MEM_OBJECT);
cl_int enqueue_migrate(CommandQueue& queue, std::span<MemoryObject* const> buffers, cl_mem_migration_flags flags,
                       WaitList wait, Event** event, cl_command_type type = CL_COMMAND_MIGRATE_MEM_OBJECTS);
cl_int enqueue_migrate_to_host(CommandQueue& queue, std::span<MemoryObject* const> buffers, WaitList wait,
                               Event** event, cl_command_type type);
// Work in this process: `work` runs on the callback thread at its position in the queue, and not at all if
// something that it waits for has failed.
cl_int enqueue_host_work(CommandQueue& queue, cl_command_type type, WaitList wait, std::function<void()> work,
                         Event** event);
// A copy within this process. Later commands of any queue send the copied bytes.
cl_int enqueue_host_copy(CommandQueue& queue, cl_command_type type, WaitList wait, void* to, const void* from,
                         std::size_t size, Event** event);
// Marker or barrier; an empty wait list means every earlier command of the queue.
cl_int enqueue_marker(CommandQueue& queue, bool is_barrier, cl_command_type type, WaitList wait, Event** event);

KernelArgument encode_argument(std::uint32_t index, const Kernel::Argument& argument);

// clWaitForEvents: returns CL_SUCCESS or CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST. Respects the thread's
// WaitLimit.
cl_int wait_for_events(WaitList events);

}  // namespace remotecl
