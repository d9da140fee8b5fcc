#pragma once

#include <cstdint>
#include <span>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

// What a task does with a range of a buffer.
struct Access {
  BufferId buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool reads = true;
  bool writes = false;
};

// One launch of a kernel. It borrows what its spans name for the time of a call.
struct Task {
  KernelId kernel = 0;
  double size = 1;  // work items
  std::span<const Access> accesses;
  std::uint64_t bytes = 0;  // of memory that it uses, each counted once
  // Tasks that must end first: those of its wait list, and the one before it on an in-order queue.
  std::span<const Ticket> after;
  DeviceId named = kNoDevice;  // by the user
  DeviceId only = kNoDevice;   // it can go nowhere else
};

}  // namespace remotecl::schedule
