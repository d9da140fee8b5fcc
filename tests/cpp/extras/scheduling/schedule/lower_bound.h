#pragma once

#include "trace.h"

namespace remotecl::schedule {

// No schedule of the trace ends before this moment: for the work that arrives from some moment on, all devices together
// need so long; and no job ends before its critical path does.
//
// How long all devices together need: for any prices s of a second of each device, a schedule that ends after T seconds
// spends at most T * sum(s), and each task spends at least what it costs where it is cheapest. So T is at least the sum
// of these least costs over sum(s). The prices that make this largest are the dual solution of the linear program of
// unrelated machines; some steps towards them are taken here.
Time lower_bound(const Trace& trace);

}  // namespace remotecl::schedule
