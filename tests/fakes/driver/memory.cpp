// Buffers, mappings and shared virtual memory. Ranges are not checked: that is the daemon's part.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "fakes/driver/objects.h"

using namespace remotecl::fake;

namespace {

struct Box {
  std::size_t origin[3], region[3], row, slice;
  Box(const std::size_t* from, const std::size_t* extent, std::size_t row_pitch, std::size_t slice_pitch)
      : row(row_pitch != 0 ? row_pitch : extent[0]), slice(slice_pitch != 0 ? slice_pitch : row * extent[1]) {
    std::copy_n(from, 3, origin);
    std::copy_n(extent, 3, region);
  }
  std::size_t at(std::size_t y, std::size_t z) const {
    return origin[0] + (origin[1] + y) * row + (origin[2] + z) * slice;
  }
};

void copy_box(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) {
  for (std::size_t z = 0; z < to_box.region[2]; ++z) {
    for (std::size_t y = 0; y < to_box.region[1]; ++y) {
      std::memmove(to + to_box.at(y, z), from + from_box.at(y, z), to_box.region[0]);
    }
  }
}

cl_int transfer(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_uint count, const cl_event* waits,
                cl_event* event, std::function<void(std::byte*)> work) {
  {
    const DriverLock lock(driver_mutex());
    if (!is(queue, kQueue)) return CL_INVALID_COMMAND_QUEUE;
    if (!is(memory, kMemory)) return CL_INVALID_MEM_OBJECT;
    if (memory->context.get() != queue->context.get()) return CL_INVALID_CONTEXT;
    const cl_int error = enqueue(queue, count, waits, event, [memory = Held<_cl_mem>(memory), work = std::move(work)] {
      work(memory->data);
      return CL_COMPLETE;
    });
    if (error != CL_SUCCESS) return error;
  }
  if (blocking != CL_FALSE) run(queue);
  return CL_SUCCESS;
}

}  // namespace

_cl_mem::~_cl_mem() {
  for (auto& destructor : destructors) destructor();
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, std::size_t size, void* host, cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (!is(context, kContext)) return failed<_cl_mem>(CL_INVALID_CONTEXT, error);
  if (size == 0 || size > allocation_max()) return failed<_cl_mem>(CL_INVALID_BUFFER_SIZE, error);
  auto* memory = new _cl_mem(context, size);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
    memory->data = static_cast<std::byte*>(host);
  } else {
    memory->own = std::make_unique<std::byte[]>(size);
    memory->data = memory->own.get();
  }
  return made(memory, error);
}

cl_mem clCreateSubBuffer(cl_mem parent, cl_mem_flags, cl_buffer_create_type, const void* info, cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (!is(parent, kMemory)) return failed<_cl_mem>(CL_INVALID_MEM_OBJECT, error);
  const auto& region = *static_cast<const cl_buffer_region*>(info);
  if (region.size == 0) return failed<_cl_mem>(CL_INVALID_BUFFER_SIZE, error);
  const bool is_aligned = region.origin % std::max<cl_uint>(settings().base_alignment / 8, 1) == 0;
  if (!is_aligned && !settings().takes_any_sub_buffer) return failed<_cl_mem>(CL_MISALIGNED_SUB_BUFFER_OFFSET, error);
  auto* memory = new _cl_mem(parent->context.get(), region.size);
  memory->parent = Held<_cl_mem>(parent);
  memory->data = parent->data + region.origin;
  return made(memory, error);
}

cl_int clRetainMemObject(cl_mem memory) {
  const DriverLock lock(driver_mutex());
  retain(memory);
  return CL_SUCCESS;
}

cl_int clReleaseMemObject(cl_mem memory) {
  if (settings().has_slow_releases) wait_for_kernels();
  const DriverLock lock(driver_mutex());
  if (!is(memory, kMemory)) return CL_INVALID_MEM_OBJECT;
  release(memory);
  return CL_SUCCESS;
}

cl_int clSetMemObjectDestructorCallback(cl_mem memory, void(CL_CALLBACK* function)(cl_mem, void*), void* data) {
  const DriverLock lock(driver_mutex());
  memory->destructors.push_back([memory, function, data] { function(memory, data); });
  return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, std::size_t offset,
                           std::size_t size, void* to, cl_uint count, const cl_event* waits, cl_event* event) {
  return transfer(queue, memory, blocking, count, waits, event,
                  [=](std::byte* data) { std::memcpy(to, data + offset, size); });
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, std::size_t offset,
                            std::size_t size, const void* from, cl_uint count, const cl_event* waits, cl_event* event) {
  return transfer(queue, memory, blocking, count, waits, event,
                  [=](std::byte* data) { std::memcpy(data + offset, from, size); });
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem memory, cl_bool blocking, const std::size_t* origin,
                               const std::size_t* host_origin, const std::size_t* region, std::size_t row,
                               std::size_t slice, std::size_t host_row, std::size_t host_slice, void* to, cl_uint count,
                               const cl_event* waits, cl_event* event) {
  const Box box(origin, region, row, slice), host(host_origin, region, host_row, host_slice);
  return transfer(queue, memory, blocking, count, waits, event,
                  [=](std::byte* data) { copy_box(static_cast<std::byte*>(to), host, data, box); });
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem memory, cl_bool blocking, const std::size_t* origin,
                                const std::size_t* host_origin, const std::size_t* region, std::size_t row,
                                std::size_t slice, std::size_t host_row, std::size_t host_slice, const void* from,
                                cl_uint count, const cl_event* waits, cl_event* event) {
  const Box box(origin, region, row, slice), host(host_origin, region, host_row, host_slice);
  return transfer(queue, memory, blocking, count, waits, event,
                  [=](std::byte* data) { copy_box(data, box, static_cast<const std::byte*>(from), host); });
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem destination, std::size_t source_offset,
                           std::size_t destination_offset, std::size_t size, cl_uint count, const cl_event* waits,
                           cl_event* event) {
  if (size == 0) return CL_INVALID_VALUE;
  const DriverLock lock(driver_mutex());
  if (!is(source, kMemory)) return CL_INVALID_MEM_OBJECT;
  return transfer(queue, destination, CL_FALSE, count, waits, event, [=, kept = Held<_cl_mem>(source)](std::byte* to) {
    std::memmove(to + destination_offset, kept->data + source_offset, size);
  });
}

cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem destination,
                               const std::size_t* source_origin, const std::size_t* destination_origin,
                               const std::size_t* region, std::size_t source_row, std::size_t source_slice,
                               std::size_t destination_row, std::size_t destination_slice, cl_uint count,
                               const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  if (!is(source, kMemory)) return CL_INVALID_MEM_OBJECT;
  const Box from(source_origin, region, source_row, source_slice);
  const Box to(destination_origin, region, destination_row, destination_slice);
  return transfer(queue, destination, CL_FALSE, count, waits, event,
                  [=, kept = Held<_cl_mem>(source)](std::byte* data) { copy_box(data, to, kept->data, from); });
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void* pattern, std::size_t pattern_size,
                           std::size_t offset, std::size_t size, cl_uint count, const cl_event* waits,
                           cl_event* event) {
  const bool is_power = pattern_size != 0 && (pattern_size & (pattern_size - 1)) == 0;
  if (!is_power || pattern_size > 128 || offset % pattern_size != 0 || size % pattern_size != 0) {
    return CL_INVALID_VALUE;
  }
  const auto* first = static_cast<const std::byte*>(pattern);
  return transfer(queue, memory, CL_FALSE, count, waits, event,
                  [=, bytes = std::vector<std::byte>(first, first + pattern_size)](std::byte* data) {
                    for (std::size_t at = 0; at < size; at += pattern_size) {
                      std::memcpy(data + offset + at, bytes.data(), pattern_size);
                    }
                  });
}

// On a device with memory of its own a mapping is a copy, which is gone when it is unmapped.
void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags, std::size_t offset,
                         std::size_t size, cl_uint count, const cl_event* waits, cl_event* event, cl_int* error) {
  std::byte* pointer = nullptr;
  bool is_copy = false;
  {
    const DriverLock lock(driver_mutex());
    if (!is(queue, kQueue)) return failed<void>(CL_INVALID_COMMAND_QUEUE, error);
    if (!is(memory, kMemory)) return failed<void>(CL_INVALID_MEM_OBJECT, error);
    is_copy = !queue->context->device->is_cpu();
    pointer = memory->data + offset;
    if (is_copy) {
      auto copy = std::make_unique<std::byte[]>(size);
      pointer = copy.get();
      memory->mapped.emplace_back(std::move(copy), std::pair(offset, size));
    }
  }
  const cl_int status = transfer(queue, memory, blocking, count, waits, event, [=](std::byte* data) {
    if (is_copy) std::memcpy(pointer, data + offset, size);
  });
  if (error != nullptr) *error = status;
  return status == CL_SUCCESS ? pointer : nullptr;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* pointer, cl_uint count,
                               const cl_event* waits, cl_event* event) {
  return transfer(queue, memory, CL_FALSE, count, waits, event, [memory, pointer](std::byte* data) {
    const auto at = std::find_if(memory->mapped.begin(), memory->mapped.end(),
                                 [pointer](const auto& one) { return one.first.get() == pointer; });
    if (at == memory->mapped.end()) return;
    std::memcpy(data + at->second.first, pointer, at->second.second);
    memory->mapped.erase(at);
  });
}

void* clSVMAlloc(cl_context context, cl_svm_mem_flags, std::size_t size, cl_uint) {
  const DriverLock lock(driver_mutex());
  if (!is(context, kContext) || size == 0 || size > allocation_max()) return nullptr;
  return std::calloc(1, size);
}

void clSVMFree(cl_context, void* pointer) { std::free(pointer); }
