#include "server/driver/released_memory.h"

#include <utility>

namespace remotecl::server {

void ReleasedMemory::add(cl_mem memory, std::uint64_t bytes, std::function<void()> released) {
  // NVIDIA's driver crashes if an older sub-buffer is released before a younger one that overlaps it. A program that
  // releases each before it creates the next never does that, so neither may we. Releasing one frees no memory and
  // waits for nothing. An object over shared virtual memory would outlive that memory.
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
