#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/mutex.h"

// What waits in C++, so that Python's signal handlers run meanwhile: Ctrl-C raises KeyboardInterrupt, and the wait is
// over.
namespace remotecl::python {

// Whether this is the thread that Python runs signal handlers on. With the GIL.
bool on_main_thread();
// Has Python's handlers run for signals that have come; throws what they raise. With the GIL.
void check_signals();
// Handlers run so often while something waits.
inline constexpr std::chrono::milliseconds kSignalPeriod{50};

// Runs `function`, which may block and must not touch Python, without the GIL. On the main thread it runs on a helper
// thread. If a signal handler raises, the helper goes on alone, so `function` must own everything it uses.
template <class Function>
auto interruptibly(Function function) {
  using Result = decltype(function());
  struct Call {
    Mutex mutex;
    ConditionVariable changed;
    std::optional<Result> result GUARDED_BY(mutex);
    std::exception_ptr failure GUARDED_BY(mutex);
  };
  if (!on_main_thread()) {
    const pybind11::gil_scoped_release released;
    return function();
  }
  const auto call = std::make_shared<Call>();
  const auto run = [call, function = std::move(function)]() mutable {
    std::optional<Result> result;
    std::exception_ptr failure;
    try {
      result = function();
    } catch (...) {
      failure = std::current_exception();
    }
    const MutexLock lock(call->mutex);
    call->result = std::move(result);
    call->failure = failure;
    call->changed.notify_all();
  };
  std::thread(run).detach();
  for (;;) {
    {
      const pybind11::gil_scoped_release released;
      MutexLock lock(call->mutex);
      if (!call->result && !call->failure) call->changed.wait_for(call->mutex, kSignalPeriod);
      if (call->result || call->failure) break;
    }
    check_signals();
  }
  const MutexLock lock(call->mutex);
  if (call->failure) std::rethrow_exception(call->failure);
  return std::move(*call->result);
}

}  // namespace remotecl::python
