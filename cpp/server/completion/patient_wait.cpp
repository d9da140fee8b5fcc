#include "server/completion/patient_wait.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "server/completion/event_status.h"

namespace remotecl::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kEager{1};
constexpr Clock::duration kPauseMin = std::chrono::microseconds(10), kPauseMax = std::chrono::milliseconds(1);
constexpr int kPauseDivisor = 128;

}  // namespace

cl_int wait_patiently(cl_event event) {
  const Clock::time_point begin = Clock::now();
  const auto passed = [begin] { return Clock::now() - begin; };
  cl_int status = execution_status(event);
  while (status > CL_COMPLETE && passed() < kEager) status = execution_status(event);
  if (status <= CL_COMPLETE) return status;
  // Flushes, as clWaitForEvents does, because a command that is not flushed may never end.
  const auto queue = event_value<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE);
  if (queue != nullptr) clFlush(queue);
  ::prctl(PR_SET_TIMERSLACK, 1000UL);  // else the system may make each pause of this thread 50 us longer
  while ((status = execution_status(event)) > CL_COMPLETE) {
    std::this_thread::sleep_for(std::clamp<Clock::duration>(passed() / kPauseDivisor, kPauseMin, kPauseMax));
  }
  return status;
}

}  // namespace remotecl::server
