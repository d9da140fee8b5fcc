#include "icd/enqueue_checks.h"
#include "icd/svm_checks.h"

namespace {

using namespace remotecl;
using icd::Dependencies;
using icd::object;
using icd::require;

// "If size is 0, the command behaves like clEnqueueMarkerWithWaitList" (OpenCL 3.0 allows empty transfers).
cl_int enqueue_nothing(CommandQueue& queue, cl_command_type type, Dependencies& dependencies, bool blocking) {
  const cl_int code =
      dependencies.finish(enqueue_marker(queue, false, type, dependencies.wait(), dependencies.event()));
  if (code != CL_SUCCESS || !blocking) return code;
  const cl_int finished = queue.finish();
  CoherentHostMemory::bring_back(queue.context());
  return finished;
}

// Whether `pointer` is the buffer's own memory, which is kept equal to the buffer.
bool is_own_memory(const MemoryObject& buffer, std::size_t offset, const void* pointer) {
  return buffer.storage().coherent && pointer == static_cast<const std::byte*>(buffer.host_ptr()) + offset;
}

bool overlaps(std::size_t a, std::size_t b, std::size_t size) { return a < b + size && b < a + size; }

}  // namespace

namespace remotecl::icd {

void check_copy(MemoryObject& from, MemoryObject& to, std::size_t source_offset, std::size_t destination_offset,
                std::size_t size) {
  require_in_bounds(from, source_offset, size);
  require_in_bounds(to, destination_offset, size);
  // "CL_MEM_COPY_OVERLAP if src_buffer and dst_buffer are the same buffer or sub-buffer object and the source and
  // destination regions overlap, or if they are different sub-buffers of the same buffer and they overlap."
  require(&from.root() != &to.root() ||
              !overlaps(from.range(source_offset, size).offset, to.range(destination_offset, size).offset, size),
          CL_MEM_COPY_OVERLAP);
}

void check_fill(MemoryObject& to, const void* pattern, std::size_t pattern_size, std::size_t offset, std::size_t size) {
  require_in_bounds(to, offset, size);
  // "CL_INVALID_VALUE if pattern is NULL or if pattern_size is 0 or if pattern_size is not one of {1, 2, ..., 128};
  // if offset and size are not a multiple of pattern_size."
  require(pattern != nullptr && pattern_size != 0 && pattern_size <= 128 && std::has_single_bit(pattern_size),
          CL_INVALID_VALUE);
  require(offset % pattern_size == 0 && size % pattern_size == 0, CL_INVALID_VALUE);
}

}  // namespace remotecl::icd

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
                                                    size_t offset, size_t size, void* pointer, cl_uint count,
                                                    const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& from = icd::buffer_of(queue, buffer);
    Dependencies dependencies(queue.context(), count, list, event);
    require(pointer != nullptr, CL_INVALID_VALUE);
    icd::require_in_bounds(from, offset, size);
    icd::require_host_may_read(from);
    dependencies.require_no_failure(blocking);
    if (size == 0) return enqueue_nothing(queue, CL_COMMAND_READ_BUFFER, dependencies, blocking);
    if (const SvmAddress to = icd::unmapped_svm(queue.context(), pointer, size); to.memory) {
      return icd::maybe_blocking(blocking, dependencies, [&](Event** done) {
        return enqueue_copy(queue, from, *to.memory, offset, to.offset, size, dependencies.wait(), done,
                            CL_COMMAND_READ_BUFFER);
      });
    }
    if (is_own_memory(from, offset, pointer)) {
      return icd::maybe_blocking(blocking, dependencies, [&](Event** done) {
        return enqueue_marker(queue, false, CL_COMMAND_READ_BUFFER, dependencies.wait(), done);
      });
    }
    return dependencies.finish(
        enqueue_read(queue, from, blocking, offset, size, pointer, dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
                                                     size_t offset, size_t size, const void* pointer, cl_uint count,
                                                     const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& to = icd::buffer_of(queue, buffer);
    Dependencies dependencies(queue.context(), count, list, event);
    require(pointer != nullptr, CL_INVALID_VALUE);
    icd::require_in_bounds(to, offset, size);
    icd::require_host_may_write(to);
    dependencies.require_no_failure(blocking);
    if (size == 0) return enqueue_nothing(queue, CL_COMMAND_WRITE_BUFFER, dependencies, blocking);
    if (const SvmAddress from = icd::unmapped_svm(queue.context(), pointer, size); from.memory) {
      return icd::maybe_blocking(blocking, dependencies, [&](Event** done) {
        return enqueue_copy(queue, *from.memory, to, from.offset, offset, size, dependencies.wait(), done,
                            CL_COMMAND_WRITE_BUFFER);
      });
    }
    if (is_own_memory(to, offset, pointer)) {
      return icd::maybe_blocking(blocking, dependencies, [&](Event** done) {
        MemoryObject* const object = &to;
        return enqueue_migrate(queue, {&object, 1}, 0, dependencies.wait(), done, CL_COMMAND_WRITE_BUFFER);
      });
    }
    return icd::maybe_blocking_write(queue, blocking, dependencies, [&](Event** done) {
      return enqueue_write(queue, to, blocking, offset, size, pointer, dependencies.wait(), done);
    });
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue command_queue, cl_mem source, cl_mem destination,
                                                    size_t source_offset, size_t destination_offset, size_t size,
                                                    cl_uint count, const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& from = icd::buffer_of(queue, source);
    MemoryObject& to = icd::buffer_of(queue, destination);
    Dependencies dependencies(queue.context(), count, list, event);
    icd::check_copy(from, to, source_offset, destination_offset, size);
    if (size == 0) return enqueue_nothing(queue, CL_COMMAND_COPY_BUFFER, dependencies, false);
    return dependencies.finish(enqueue_copy(queue, from, to, source_offset, destination_offset, size,
                                            dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue command_queue, cl_mem buffer, const void* pattern,
                                                    size_t pattern_size, size_t offset, size_t size, cl_uint count,
                                                    const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& to = icd::buffer_of(queue, buffer);
    Dependencies dependencies(queue.context(), count, list, event);
    icd::check_fill(to, pattern, pattern_size, offset, size);
    if (size == 0) return enqueue_nothing(queue, CL_COMMAND_FILL_BUFFER, dependencies, false);
    return dependencies.finish(enqueue_fill(queue, to, Bytes(static_cast<const std::byte*>(pattern), pattern_size),
                                            offset, size, dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
                                                  cl_map_flags flags, size_t offset, size_t size, cl_uint count,
                                                  const cl_event* list, cl_event* event, cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& of = icd::buffer_of(queue, buffer);
    Dependencies dependencies(queue.context(), count, list, event);
    require(size != 0, CL_INVALID_VALUE);
    icd::require_in_bounds(of, offset, size);
    icd::require_may_map(of, flags);
    dependencies.require_no_failure(blocking);
    void* mapped = nullptr;
    const cl_int code = dependencies.finish(
        enqueue_map(queue, of, blocking, flags, offset, size, dependencies.wait(), dependencies.event(), &mapped));
    require(code == CL_SUCCESS, code == CL_OUT_OF_RESOURCES ? CL_MAP_FAILURE : code);
    return mapped;
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memory, void* mapped,
                                                        cl_uint count, const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    MemoryObject& of = object<MemoryObject>(memory);
    require(&of.context() == &queue.context(), CL_INVALID_CONTEXT);
    Dependencies dependencies(queue.context(), count, list, event);
    require(mapped != nullptr, CL_INVALID_VALUE);
    return dependencies.finish(enqueue_unmap(queue, of, mapped, dependencies.wait(), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue command_queue, cl_uint num_objects,
                                                           const cl_mem* objects, cl_mem_migration_flags flags,
                                                           cl_uint count, const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = object<CommandQueue>(command_queue);
    require(num_objects != 0 && objects != nullptr, CL_INVALID_VALUE);
    require((flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)) == 0, CL_INVALID_VALUE);
    std::vector<MemoryObject*> buffers;
    for (cl_uint i = 0; i < num_objects; ++i) {
      buffers.push_back(&object<MemoryObject>(objects[i]));
      require(&buffers.back()->context() == &queue.context(), CL_INVALID_CONTEXT);
    }
    Dependencies dependencies(queue.context(), count, list, event);
    return dependencies.finish(enqueue_migrate(queue, buffers, flags, dependencies.wait(), dependencies.event()));
  });
}
