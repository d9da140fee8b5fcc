#pragma once

#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/command_plan.h"

namespace remotecl {

constexpr cl_map_flags kMapsForWriting = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

// Maps an `Area`, a part of a buffer or of an image:
//   MemoryObject& memory
//   ByteRange range()                what a map fetches
//   ranges()                         what the application may touch
//   std::byte* add_mapping(flags)    returns where it is mapped
//   void fetch(command, pointer)     sends the read that fetches the bytes to there
//   std::uint64_t span()             bytes from the first to the last mapped one
//   bool fills_host_copy()           true if a fetch completes range() of the host's copy
template <class Area>
struct MapPlan : Plan {
  static constexpr bool kNeedsEvent = true;

  cl_command_type type;
  bool blocking;
  cl_map_flags flags;
  Area area;
  void** mapped;
  bool needs_fetch = false;
  std::byte* pointer = nullptr;
  std::optional<std::uint64_t> writes{};  // to the storage before the fetch; none: it brings a limited copy

  BufferStorage& storage() const { return area.memory.storage(); }

  cl_int prepare(PendingCommand&) REQUIRES(kMemoryMutex) {
    if (storage().coherent) storage().coherent->mapped(area.memory, area.ranges());
    needs_fetch = (flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0 && !storage().residency.valid(area.range(), kHost);
    return CL_SUCCESS;
  }
  void refused() const REQUIRES(kMemoryMutex) {
    if (storage().coherent) storage().coherent->unmapped(area.ranges());
  }
  void will_use(auto& uses) const REQUIRES(kMemoryMutex) { uses.reads(area.memory, area.range()); }
  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    if (needs_fetch) uses.reads(area.memory, area.range());
  }
  cl_int send(PendingCommand& command) REQUIRES(kMemoryMutex) {
    command.waits_for_host_readers(storage());
    pointer = area.add_mapping(flags);
    writes = storage().writes_if_whole(area.range(), command.queue().location());
    if (needs_fetch) {
      area.fetch(command, pointer);
    } else {
      command.touches_host(pointer, area.span());
      send_place_marker(command);
    }
    return CL_SUCCESS;
  }
  bool is_awaited() const { return blocking; }
  cl_int outcome(CommandQueue& queue, Ref<Event>& own, Event** event) const {
    if (blocking && own->wait_in_call(event)) {
      const cl_int status = own->status();
      const MutexLock lock(queue.context().memory_mutex());
      if (status < 0) {
        area.memory.remove_mapping(pointer);
        refused();
        return status;
      }
      // Nothing has written meanwhile, so the host also holds the newest bytes, until the next write.
      if (needs_fetch && storage().writes == writes && area.fills_host_copy()) {
        storage().residency.add_holder(area.range(), kHost);
      }
    }
    *mapped = pointer;
    return CL_SUCCESS;
  }
};

}  // namespace remotecl
