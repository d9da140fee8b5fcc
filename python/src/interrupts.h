#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

// What waits in C++, so that Python's signal handlers run meanwhile: Ctrl-C raises KeyboardInterrupt, and the wait is
// over.
namespace remotecl::python {

// Whether this is the thread that Python runs signal handlers on. With the GIL.
bool on_main_thread();
// Has Python's handlers run for signals that have come; throws what they raise. With the GIL.
void check_signals();
// Handlers run so often while something waits.
inline constexpr std::chrono::milliseconds kSignalPeriod{50};

// What `function` gives, which may wait and knows nothing of Python. Called with the GIL, which others have meanwhile.
// On the main thread it runs on a thread of its own; where a handler raises, that goes on alone, so the function must
// own all that it uses.
template <class Function>
auto interruptibly(Function function) {
  using Result = decltype(function());
  struct Call {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result> result;
    std::exception_ptr failure;
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
    const std::lock_guard lock(call->mutex);
    call->result = std::move(result);
    call->failure = failure;
    call->changed.notify_all();
  };
  std::thread(run).detach();
  for (;;) {
    {
      const pybind11::gil_scoped_release released;
      std::unique_lock lock(call->mutex);
      const auto is_over = [&call] { return call->result || call->failure; };
      if (call->changed.wait_for(lock, kSignalPeriod, is_over)) break;
    }
    check_signals();
  }
  if (call->failure) std::rethrow_exception(call->failure);
  return std::move(*call->result);
}

}  // namespace remotecl::python
