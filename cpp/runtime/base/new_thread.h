#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace remotecl {

// A std::thread. Throws std::system_error that says what is short, where std::thread's says "Resource temporarily
// unavailable".
template <class Work>
std::thread new_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "no thread can be started (ulimit -u, or its control group's pids.max)");
  }
}

}  // namespace remotecl
