#pragma once

#include <string>
#include <vector>

#include "runtime/client/split/division_times.h"

namespace remotecl {

// An event that ends with the marker behind the pieces but has the times of the pieces, because the marker's own say
// nothing of them. `ended`: the times of pieces that have ended; `pieces`: the others. Any thread.
Ref<Event> division_event(const Ref<Event>& marker, const DivisionTimes& ended, std::vector<Ref<Event>> pieces,
                          const std::string& kernel, std::uint64_t begin_ns);

}  // namespace remotecl
