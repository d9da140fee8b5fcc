#pragma once

#include <string>
#include <vector>

#include "runtime/client/split/division_times.h"

namespace remotecl {

// An event that ends with the marker behind the pieces, whose own times say nothing of them, and has the times of the
// pieces: those that have ended, and those that have not. Any thread.
Ref<Event> division_event(const Ref<Event>& marker, const DivisionTimes& ended, std::vector<Ref<Event>> pieces,
                          const std::string& kernel, std::uint64_t begin_ns);

}  // namespace remotecl
