#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"

namespace remotecl::server {

// Which mappings of a device's buffers are open. An unmapping names a pointer, not a mapping: with several at one place
// PoCL takes any, also one whose mapping has yet to be carried out, and that one finds its record gone. So what could
// be mistaken for such a one is left to be unmapped later. Owned by the device and its mappings; any thread.
class OpenMappings final : public RefCounted {
 public:
  struct Place {
    cl_mem memory;
    void* data;
    auto operator<=>(const Place&) const = default;
  };

  // Maps a range of a buffer, non-blocking; null and an error when the driver refuses it.
  void* map(cl_command_queue queue, cl_mem memory, cl_map_flags flags, std::size_t offset, std::size_t size,
            cl_uint wait_count, const cl_event* waits, cl_event* mapped, cl_int& error) EXCLUDES(mutex_);
  // `mapped`: the event of the mapping.
  cl_int unmap(cl_command_queue queue, const Place& place, cl_event mapped, cl_event* unmapped) EXCLUDES(mutex_);

 private:
  struct Open {
    Place place;
    cl_event mapped;  // the mapping's
  };

  // Held while the driver is given a mapping or an unmapping: their order must be that of these tables.
  Mutex mutex_;
  std::vector<Open> open_ GUARDED_BY(mutex_);
  std::map<Place, int> owed_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
