#include "icd/enqueue_checks.h"
#include "icd/svm_checks.h"

namespace {

using namespace remotecl;
using icd::Dependencies;
using icd::maybe_blocking;
using icd::object;
using icd::require;

CommandQueue& svm_queue(cl_command_queue handle) {
  CommandQueue& queue = object<CommandQueue>(handle);
  // "CL_INVALID_OPERATION if the device associated with command queue does not support SVM."
  require(svm_capabilities(queue.device()) != 0, CL_INVALID_OPERATION);
  return queue;
}

// The allocation that contains the `size` bytes at `pointer`.
SvmAddress checked_address(CommandQueue& queue, const void* pointer, std::size_t size) {
  SvmAddress address = find_svm(queue.context(), pointer);
  require(address.holds(size), CL_INVALID_VALUE);
  return address;
}

void require_known_map_flags(cl_map_flags flags) {
  // "CL_INVALID_VALUE if ... values specified in map_flags are not valid."
  constexpr cl_map_flags kKnown = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
  require((flags & ~kKnown) == 0, CL_INVALID_VALUE);
  require((flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0 || (flags & (CL_MAP_READ | CL_MAP_WRITE)) == 0,
          CL_INVALID_VALUE);
}

cl_int copy(CommandQueue& queue, bool blocking, void* to, const void* from, size_t size, Dependencies& dependencies) {
  constexpr cl_command_type kType = CL_COMMAND_SVM_MEMCPY;
  const WaitList wait = dependencies.wait();
  if (size == 0) {
    return maybe_blocking(blocking, dependencies,
                          [&](Event** event) { return enqueue_marker(queue, false, kType, wait, event); });
  }
  const SvmAddress source = find_svm(queue.context(), from), destination = find_svm(queue.context(), to);
  const bool from_svm = source.holds(size), to_svm = destination.holds(size);
  // Memory that begins in an allocation must end there.
  require(from_svm || !source.memory || source.offset == source.memory->size(), CL_INVALID_VALUE);
  require(to_svm || !destination.memory || destination.offset == destination.memory->size(), CL_INVALID_VALUE);
  if (from_svm && to_svm) {
    return maybe_blocking(blocking, dependencies, [&](Event** event) {
      return enqueue_copy(queue, *source.memory, *destination.memory, source.offset, destination.offset, size, wait,
                          event, kType);
    });
  }
  if (from_svm) {
    return dependencies.finish(
        enqueue_read(queue, *source.memory, blocking, source.offset, size, to, wait, dependencies.event(), kType));
  }
  if (to_svm) {
    return icd::maybe_blocking_write(queue, blocking, dependencies, [&](Event** event) {
      return enqueue_write(queue, *destination.memory, blocking, destination.offset, size, from, wait, event, kType);
    });
  }
  return maybe_blocking(blocking, dependencies,
                        [&](Event** event) { return enqueue_host_copy(queue, kType, wait, to, from, size, event); });
}

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue command_queue, cl_uint num_pointers, void* pointers[],
                                                 void(CL_CALLBACK* function)(cl_command_queue, cl_uint, void*[], void*),
                                                 void* user_data, cl_uint count, const cl_event* list,
                                                 cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = svm_queue(command_queue);
    // "CL_INVALID_VALUE if num_svm_pointers is 0 and svm_pointers is non-NULL, or if svm_pointers is NULL and
    // num_svm_pointers is not 0."
    require((num_pointers == 0) == (pointers == nullptr), CL_INVALID_VALUE);
    Dependencies dependencies(queue.context(), count, list, event);
    auto free_all = [&queue, function, user_data,
                     all = std::vector<void*>(pointers, pointers + num_pointers)]() mutable {
      if (function != nullptr) {
        function(queue.handle(), static_cast<cl_uint>(all.size()), all.empty() ? nullptr : all.data(), user_data);
      } else {
        for (void* pointer : all) free_svm(queue.context(), pointer);
      }
    };
    return dependencies.finish(
        enqueue_host_work(queue, CL_COMMAND_SVM_FREE, dependencies.wait(), std::move(free_all), dependencies.event()));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue command_queue, cl_bool blocking, void* to,
                                                   const void* from, size_t size, cl_uint count, const cl_event* list,
                                                   cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = svm_queue(command_queue);
    Dependencies dependencies(queue.context(), count, list, event);
    require(to != nullptr && from != nullptr, CL_INVALID_VALUE);
    // "CL_MEM_COPY_OVERLAP if the values specified for dst_ptr, src_ptr and size result in an overlapping copy."
    const auto a = reinterpret_cast<std::uintptr_t>(to), b = reinterpret_cast<std::uintptr_t>(from);
    require(a >= b ? a - b >= size : b - a >= size, CL_MEM_COPY_OVERLAP);
    dependencies.require_no_failure(blocking);
    return copy(queue, blocking, to, from, size, dependencies);
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue command_queue, void* pointer, const void* pattern,
                                                    size_t pattern_size, size_t size, cl_uint count,
                                                    const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = svm_queue(command_queue);
    Dependencies dependencies(queue.context(), count, list, event);
    // "CL_INVALID_VALUE if svm_ptr is NULL; if pattern is NULL or if pattern_size is 0 or if pattern_size is not one of
    // {1, 2, ..., 128}; if svm_ptr is not aligned to pattern_size bytes; if size is not a multiple of pattern_size."
    require(pointer != nullptr && pattern != nullptr, CL_INVALID_VALUE);
    require(std::has_single_bit(pattern_size) && pattern_size <= 128, CL_INVALID_VALUE);
    require(reinterpret_cast<std::uintptr_t>(pointer) % pattern_size == 0, CL_INVALID_VALUE);
    require(size % pattern_size == 0, CL_INVALID_VALUE);
    if (size == 0) {
      return dependencies.finish(
          enqueue_marker(queue, false, CL_COMMAND_SVM_MEMFILL, dependencies.wait(), dependencies.event()));
    }
    const SvmAddress address = checked_address(queue, pointer, size);
    return dependencies.finish(enqueue_fill(queue, *address.memory,
                                            Bytes(static_cast<const std::byte*>(pattern), pattern_size), address.offset,
                                            size, dependencies.wait(), dependencies.event(), CL_COMMAND_SVM_MEMFILL));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue command_queue, cl_bool blocking, cl_map_flags flags,
                                                void* pointer, size_t size, cl_uint count, const cl_event* list,
                                                cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = svm_queue(command_queue);
    Dependencies dependencies(queue.context(), count, list, event);
    // "CL_INVALID_VALUE if svm_ptr is NULL; if size is 0."
    require(pointer != nullptr && size != 0, CL_INVALID_VALUE);
    require_known_map_flags(flags);
    const SvmAddress address = checked_address(queue, pointer, size);
    dependencies.require_no_failure(blocking);
    void* mapped = nullptr;
    return dependencies.finish(enqueue_map(queue, *address.memory, blocking, flags, address.offset, size,
                                           dependencies.wait(), dependencies.event(), &mapped, CL_COMMAND_SVM_MAP));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue command_queue, void* pointer, cl_uint count,
                                                  const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = svm_queue(command_queue);
    Dependencies dependencies(queue.context(), count, list, event);
    // "CL_INVALID_VALUE if svm_ptr is NULL."
    require(pointer != nullptr, CL_INVALID_VALUE);
    const SvmAddress address = checked_address(queue, pointer, 0);
    return dependencies.finish(enqueue_unmap(queue, *address.memory, pointer, dependencies.wait(), dependencies.event(),
                                             CL_COMMAND_SVM_UNMAP));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue command_queue, cl_uint num_pointers,
                                                       const void** pointers, const size_t* sizes,
                                                       cl_mem_migration_flags flags, cl_uint count,
                                                       const cl_event* list, cl_event* event) {
  return icd::enter([&] {
    CommandQueue& queue = svm_queue(command_queue);
    Dependencies dependencies(queue.context(), count, list, event);
    // "CL_INVALID_VALUE if num_svm_pointers is zero or svm_pointers is NULL."
    require(num_pointers != 0 && pointers != nullptr, CL_INVALID_VALUE);
    require((flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)) == 0, CL_INVALID_VALUE);
    std::vector<Ref<MemoryObject>> keep;
    std::vector<MemoryObject*> memory;
    for (cl_uint i = 0; i < num_pointers; ++i) {
      // "CL_INVALID_VALUE if sizes[i] is non-zero range [svm_pointers[i], svm_pointers[i]+sizes[i]) is not contained
      // within an existing clSVMAlloc allocation."
      keep.push_back(checked_address(queue, pointers[i], sizes == nullptr ? 0 : sizes[i]).memory);
      memory.push_back(keep.back().get());
    }
    return dependencies.finish(
        enqueue_migrate(queue, memory, flags, dependencies.wait(), dependencies.event(), CL_COMMAND_SVM_MIGRATE_MEM));
  });
}
