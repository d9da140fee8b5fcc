#include "server/driver/mapping.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/completion/event_status.h"

namespace remotecl::server {
namespace {

using Place = std::pair<cl_mem, void*>;

struct Open {
  Place place;
  cl_event mapped;

  bool waits() const { return execution_status(mapped) > CL_COMPLETE; }
};

// The open mappings. An unmapping names a pointer, not a mapping. If several mappings have one pointer, PoCL
// picks any of them, even one that has yet to be carried out, which then finds its record gone. An unmapping
// that could hit such a mapping is therefore owed, and carried out later.
struct Mappings {
  Mutex mutex;
  std::vector<Open> open GUARDED_BY(mutex);
  std::map<Place, int> owed GUARDED_BY(mutex);
};

Mappings& mappings() {
  static Mappings& mappings = *new Mappings;  // never destroyed: threads of drivers may still use it at exit
  return mappings;
}

}  // namespace

Mapping::~Mapping() {
  unmap(nullptr);
  mapped_.reset();
  if (memory_ != nullptr) clReleaseMemObject(memory_);
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
}

cl_int Mapping::map(cl_command_queue queue, cl_mem memory, cl_map_flags flags, std::uint64_t offset, std::uint64_t size,
                    cl_uint wait_count, const cl_event* waits, cl_event* mapped) {
  Mappings& all = mappings();
  MutexLock lock(all.mutex);
  cl_int error = CL_SUCCESS;
  data_ = clEnqueueMapBuffer(queue, memory, CL_FALSE, flags, offset, size, wait_count, waits, mapped, &error);
  if (error != CL_SUCCESS) {
    data_ = nullptr;
    return error;
  }
  clRetainCommandQueue(queue);
  clRetainMemObject(memory);
  queue_ = queue;
  memory_ = memory;
  mapped_ = Native<cl_event>::retained(*mapped);
  all.open.push_back({{memory_, data_}, mapped_.get()});
  return CL_SUCCESS;
}

cl_int Mapping::unmap(cl_event* unmapped) {
  if (data_ == nullptr) return CL_SUCCESS;
  const Place place{memory_, std::exchange(data_, nullptr)};
  Mappings& all = mappings();
  MutexLock lock(all.mutex);
  std::erase_if(all.open, [this](const Open& one) { return one.mapped == mapped_.get(); });
  const cl_uint waits = Open{place, mapped_.get()}.waits() ? 1 : 0;  // the mapping is dropped before it was carried out
  const bool may_be_mistaken =
      std::any_of(all.open.begin(), all.open.end(), [&](const Open& one) { return one.place == place && one.waits(); });
  if (may_be_mistaken) {
    ++all.owed[place];
    return unmapped == nullptr ? CL_SUCCESS : clEnqueueMarkerWithWaitList(queue_, 1, mapped_.list(), unmapped);
  }
  const auto owed = all.owed.find(place);
  if (owed != all.owed.end()) {
    for (int i = 0; i < owed->second; ++i) clEnqueueUnmapMemObject(queue_, memory_, place.second, 0, nullptr, nullptr);
    all.owed.erase(owed);
  }
  return clEnqueueUnmapMemObject(queue_, memory_, place.second, waits, waits != 0 ? mapped_.list() : nullptr, unmapped);
}

}  // namespace remotecl::server
