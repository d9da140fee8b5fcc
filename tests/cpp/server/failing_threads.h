#pragma once

#include <atomic>

namespace remotecl::testing {

// This program stands between the server and the thread library.
extern std::atomic<int> threads_started;
// The number of the thread that cannot be started, from 0; negative: none.
extern std::atomic<int> failing_thread;

}  // namespace remotecl::testing
