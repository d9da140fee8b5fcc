#pragma once

#include <string>
#include <vector>

#include "runtime/client/split/division_times.h"

namespace remotecl {

// Makes the marker behind the pieces the event of the kernel: with its name, and with the times of the pieces, because
// the marker's own say nothing of them. `ended`: the times of pieces that have ended; `pieces`: the others, which live
// as long as the marker. Before the marker is shared.
void make_division_event(Event& marker, const DivisionTimes& ended, std::vector<Ref<Event>> pieces,
                         const std::string& kernel, std::uint64_t begin_ns);

}  // namespace remotecl
