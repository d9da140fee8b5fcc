#include "server/driver/released_memory.h"

#include <utility>

namespace remotecl::server {

void ReleasedMemory::add(cl_mem memory, std::uint64_t bytes, std::function<void()> released) {
  // A sub-buffer frees nothing, and NVIDIA's driver crashes if an older one of a buffer is released before a younger
  // one: that never happens to a program that releases each before it creates the next. Shared virtual memory is about
  // to go.
  if (bytes_max_ == 0 || bytes == 0) {
    clReleaseMemObject(memory);
    return released();
  }
  {
    const MutexLock lock(mutex_);
    objects_.push_back({memory, std::move(released)});
    bytes_ += bytes;
    if (bytes_ <= bytes_max_ && load_.is_busy()) return;
  }
  release_all();
}

void ReleasedMemory::release_if_idle() {
  if (bytes_max_ != 0 && !load_.is_busy()) release_all();
}

bool ReleasedMemory::release_all() {
  std::vector<Object> objects;
  {
    const MutexLock lock(mutex_);
    objects.swap(objects_);
    bytes_ = 0;
  }
  for (const Object& object : objects) {
    clReleaseMemObject(object.memory);
    object.released();
  }
  return !objects.empty();
}

}  // namespace remotecl::server
