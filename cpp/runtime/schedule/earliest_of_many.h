#pragma once

#include "runtime/schedule/best_two.h"

namespace remotecl::schedule {

// Where the task ends first, of many devices, if not where `best` says. Looks at groups of devices, and into those that
// can have a better one. In a file of its own, because the compiler then makes less of a decision among few.
Choice earliest_of_many(const Situation& situation, BestTwo best);

}  // namespace remotecl::schedule
