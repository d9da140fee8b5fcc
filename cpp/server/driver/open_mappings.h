#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"

namespace remotecl::server {

// The open mappings of a device's buffers. An unmapping names a pointer, not a mapping. If several mappings
// have one pointer, PoCL picks any of them, even one that has yet to be carried out, which then finds its
// record gone. An unmapping that could hit such a mapping is therefore postponed (`owed_`). Owned by
// the device and its mappings; any thread.
class OpenMappings final : public RefCounted {
 public:
  struct Key {
    cl_mem memory;
    void* data;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): a 0 of the compiler
  };

  // Maps a range of a buffer without blocking. Returns null and sets `error` if the driver refuses.
  void* map(cl_command_queue queue, cl_mem memory, cl_map_flags flags, std::size_t offset, std::size_t size,
            cl_uint wait_count, const cl_event* waits, cl_event* mapped, cl_int& error) EXCLUDES(mutex_);
  // `mapped`: the event of the mapping.
  cl_int unmap(cl_command_queue queue, const Key& key, cl_event mapped, cl_event* unmapped) EXCLUDES(mutex_);

 private:
  struct Open {
    Key key;
    cl_event mapped;  // of the mapping
  };

  // Held while a mapping or an unmapping is passed to the driver, because the driver must get them in the
  // order of these tables.
  Mutex mutex_;
  std::vector<Open> open_ GUARDED_BY(mutex_);
  std::map<Key, int> owed_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
