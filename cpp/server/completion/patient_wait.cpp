#include "server/completion/patient_wait.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "server/completion/event_status.h"

namespace remotecl::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kEager{1};
constexpr Clock::duration kPauseMin = std::chrono::microseconds(10), kPauseMax = std::chrono::milliseconds(1);
constexpr int kPauseDivisor = 128;

// The system may else make each pause of this thread 50 us longer.
void make_pauses_exact() {
  thread_local const bool is_done = ::prctl(PR_SET_TIMERSLACK, 1000UL) == 0;
  static_cast<void>(is_done);
}

// clWaitForEvents would do that, and what is not flushed may never end.
void flush_queue_of(cl_event event) {
  cl_command_queue queue = nullptr;
  clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
  if (queue != nullptr) clFlush(queue);
}

}  // namespace

cl_int wait_patiently(cl_event event) {
  const Clock::time_point begin = Clock::now();
  bool is_eager = true;
  for (;;) {
    const cl_int status = execution_status(event);
    if (status <= CL_COMPLETE) return status;
    const Clock::duration passed = Clock::now() - begin;
    if (passed < kEager) continue;
    if (std::exchange(is_eager, false)) {
      make_pauses_exact();
      flush_queue_of(event);
    }
    std::this_thread::sleep_for(std::clamp(passed / kPauseDivisor, kPauseMin, kPauseMax));
  }
}

}  // namespace remotecl::server
