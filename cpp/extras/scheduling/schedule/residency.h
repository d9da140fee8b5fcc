#pragma once

#include <cstdint>
#include <vector>

#include "extras/scheduling/schedule/task.h"
#include "runtime/base/index_set.h"

namespace remotecl::schedule {

// Bytes whose newest version is in the same locations.
struct Segment {
  std::uint64_t bytes = 0;
  const IndexSet* devices = nullptr;  // that hold it, or will before the task needs it
  bool on_client = false;
};

// Where bytes are. The owner of buffers implements it.
class Residency {
 public:
  virtual ~Residency() = default;

  // Appends the segments of what the access reads. Bytes that nobody holds are left out: they need no transfer. The
  // segments are valid until the next call.
  virtual void find(const Access& access, std::vector<Segment>& out) const = 0;
};

}  // namespace remotecl::schedule
