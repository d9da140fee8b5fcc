#pragma once

#include "runtime/schedule/best_two.h"

namespace remotecl::schedule {

// Finds where the task ends first, of many devices, unless `best` has that already. Looks at groups of devices, and
// into those that can have a better one. It has a file of its own, because the compiler then generates less code for a
// decision among few.
Choice earliest_of_many(const Situation& situation, BestTwo best);

}  // namespace remotecl::schedule
