#pragma once

#include "icd/wait_list.h"
#include "runtime/client/svm.h"

// What commands share whose pointers may be shared virtual memory.
namespace remotecl::icd {

// For a command that is enqueued as another one, which does not block by itself: `enqueue` takes an Event**.
template <class Enqueue>
cl_int maybe_blocking(bool blocking, Dependencies& dependencies, Enqueue&& enqueue) {
  Event* done = nullptr;
  const cl_int code = enqueue(&done);
  if (code != CL_SUCCESS) return code;
  Ref<Event> own = Ref<Event>::adopt(done);
  if (blocking) {
    const cl_int status = own->wait();
    if (status < 0) return status;
  }
  if (dependencies.event() != nullptr) *dependencies.event() = own.detach();
  return dependencies.finish(CL_SUCCESS);
}

// Where the "host memory" of a read or write is when it is shared virtual memory that is not mapped. Its bytes are then
// with the devices, and the command is a copy there.
inline SvmPlace unmapped_svm(Context& context, const void* pointer, std::uint64_t size) {
  SvmPlace place = find_svm(context, pointer);
  if (!place.memory || !place.holds(1)) return {};
  require(place.holds(size), CL_INVALID_VALUE);
  const std::lock_guard lock(context.memory_mutex());
  if (place.memory->is_mapped(place.offset, size)) return {};
  return place;
}

}  // namespace remotecl::icd
