// Commands that read, write, copy, fill and map buffers.
#include <algorithm>
#include <array>
#include <cstring>

#include "extras/streams/driver/command.h"

using namespace remotecl::plugins;

namespace {

using Sizes = std::array<std::size_t, 3>;

// A box of bytes in memory that begins at some address.
struct Box {
  Sizes origin, region;
  std::size_t row, slice;
  Box(const std::size_t* from, const std::size_t* extent, std::size_t row_pitch, std::size_t slice_pitch)
      : origin{from[0], from[1], from[2]},
        region{extent[0], extent[1], extent[2]},
        row(row_pitch != 0 ? row_pitch : extent[0]),
        slice(slice_pitch != 0 ? slice_pitch : row * extent[1]) {}
  std::size_t at(std::size_t y, std::size_t z) const {
    return origin[0] + (origin[1] + y) * row + (origin[2] + z) * slice;
  }
  bool fits(std::size_t size) const {
    return region[0] != 0 && region[1] != 0 && region[2] != 0 && at(region[1] - 1, region[2] - 1) + region[0] <= size;
  }
};

void copy_box(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) {
  for (std::size_t z = 0; z < to_box.region[2]; ++z) {
    for (std::size_t y = 0; y < to_box.region[1]; ++y) {
      std::memmove(to + to_box.at(y, z), from + from_box.at(y, z), to_box.region[0]);
    }
  }
}

bool has_range(cl_mem memory, std::size_t offset, std::size_t size) {
  return offset <= memory->size && size <= memory->size - offset;
}

// Work on the bytes of a buffer.
cl_int transfer(const Request& request, cl_mem memory, cl_bool is_blocking, std::function<void(std::byte*)> work) {
  return enqueue(request, is_blocking != CL_FALSE, [held = Held<_cl_mem>(memory), work = std::move(work)]() -> cl_int {
    work(held->data);
    return CL_COMPLETE;
  });
}

}  // namespace

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool is_blocking, std::size_t offset,
                           std::size_t size, void* to, cl_uint count, const cl_event* waits, cl_event* event) {
  if (!has_range(memory, offset, size)) return CL_INVALID_VALUE;
  return transfer({queue, CL_COMMAND_READ_BUFFER, count, waits, event}, memory, is_blocking,
                  [=](const std::byte* data) { std::memcpy(to, data + offset, size); });
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool is_blocking, std::size_t offset,
                            std::size_t size, const void* from, cl_uint count, const cl_event* waits, cl_event* event) {
  if (!has_range(memory, offset, size)) return CL_INVALID_VALUE;
  return transfer({queue, CL_COMMAND_WRITE_BUFFER, count, waits, event}, memory, is_blocking,
                  [=](std::byte* data) { std::memcpy(data + offset, from, size); });
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem memory, cl_bool is_blocking, const std::size_t* origin,
                               const std::size_t* host_origin, const std::size_t* region, std::size_t row,
                               std::size_t slice, std::size_t host_row, std::size_t host_slice, void* to, cl_uint count,
                               const cl_event* waits, cl_event* event) {
  const Box box(origin, region, row, slice), host(host_origin, region, host_row, host_slice);
  if (!box.fits(memory->size)) return CL_INVALID_VALUE;
  return transfer({queue, CL_COMMAND_READ_BUFFER_RECT, count, waits, event}, memory, is_blocking,
                  [=](const std::byte* data) { copy_box(static_cast<std::byte*>(to), host, data, box); });
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem memory, cl_bool is_blocking, const std::size_t* origin,
                                const std::size_t* host_origin, const std::size_t* region, std::size_t row,
                                std::size_t slice, std::size_t host_row, std::size_t host_slice, const void* from,
                                cl_uint count, const cl_event* waits, cl_event* event) {
  const Box box(origin, region, row, slice), host(host_origin, region, host_row, host_slice);
  if (!box.fits(memory->size)) return CL_INVALID_VALUE;
  return transfer({queue, CL_COMMAND_WRITE_BUFFER_RECT, count, waits, event}, memory, is_blocking,
                  [=](std::byte* data) { copy_box(data, box, static_cast<const std::byte*>(from), host); });
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem destination, std::size_t source_offset,
                           std::size_t destination_offset, std::size_t size, cl_uint count, const cl_event* waits,
                           cl_event* event) {
  if (!has_range(source, source_offset, size) || !has_range(destination, destination_offset, size)) {
    return CL_INVALID_VALUE;
  }
  return transfer({queue, CL_COMMAND_COPY_BUFFER, count, waits, event}, destination, CL_FALSE,
                  [=, kept = Held<_cl_mem>(source)](std::byte* to) {
                    std::memmove(to + destination_offset, kept->data + source_offset, size);
                  });
}

cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem destination,
                               const std::size_t* source_origin, const std::size_t* destination_origin,
                               const std::size_t* region, std::size_t source_row, std::size_t source_slice,
                               std::size_t destination_row, std::size_t destination_slice, cl_uint count,
                               const cl_event* waits, cl_event* event) {
  const Box from(source_origin, region, source_row, source_slice);
  const Box to(destination_origin, region, destination_row, destination_slice);
  if (!from.fits(source->size) || !to.fits(destination->size)) return CL_INVALID_VALUE;
  return transfer({queue, CL_COMMAND_COPY_BUFFER_RECT, count, waits, event}, destination, CL_FALSE,
                  [=, kept = Held<_cl_mem>(source)](std::byte* data) { copy_box(data, to, kept->data, from); });
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void* pattern, std::size_t pattern_size,
                           std::size_t offset, std::size_t size, cl_uint count, const cl_event* waits,
                           cl_event* event) {
  if (!has_range(memory, offset, size) || pattern == nullptr || pattern_size == 0) return CL_INVALID_VALUE;
  if (offset % pattern_size != 0 || size % pattern_size != 0) return CL_INVALID_VALUE;
  const auto* first = static_cast<const std::byte*>(pattern);
  return transfer({queue, CL_COMMAND_FILL_BUFFER, count, waits, event}, memory, CL_FALSE,
                  [=, bytes = std::vector<std::byte>(first, first + pattern_size)](std::byte* data) {
                    for (std::size_t at = 0; at < size; at += bytes.size()) {
                      std::memcpy(data + offset + at, bytes.data(), bytes.size());
                    }
                  });
}

void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool is_blocking, cl_map_flags, std::size_t offset,
                         std::size_t size, cl_uint count, const cl_event* waits, cl_event* event, cl_int* error) {
  if (!has_range(memory, offset, size)) return failed<void>(CL_INVALID_VALUE, error);
  const cl_int status =
      transfer({queue, CL_COMMAND_MAP_BUFFER, count, waits, event}, memory, is_blocking, [](const std::byte*) {});
  if (error != nullptr) *error = status;
  return status == CL_SUCCESS ? memory->data + offset : nullptr;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void*, cl_uint count, const cl_event* waits,
                               cl_event* event) {
  return transfer({queue, CL_COMMAND_UNMAP_MEM_OBJECT, count, waits, event}, memory, CL_FALSE, [](const std::byte*) {});
}

cl_int clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint, const cl_mem*, cl_mem_migration_flags, cl_uint count,
                                  const cl_event* waits, cl_event* event) {
  return enqueue({queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, count, waits, event}, [] { return CL_COMPLETE; });
}
