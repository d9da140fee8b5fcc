#include "server/completion/patient_wait.h"

#include <time.h>

#include <chrono>
#include <future>

#include "server/completion/reported_events.h"

namespace remotecl::server {
namespace {

using PatientWaitTest = ReportedEventsTest;
using std::chrono::milliseconds;

// Of this thread.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST_F(PatientWaitTest, EndsWithTheEvent) {
  for (const milliseconds time : {milliseconds(0), milliseconds(20)}) {
    const cl_event event = gate();
    std::future<cl_int> wait = std::async(std::launch::async, [event] { return wait_patiently(event); });
    EXPECT_EQ(wait.wait_for(time), std::future_status::timeout);
    clSetUserEventStatus(event, CL_COMPLETE);
    EXPECT_EQ(wait.get(), CL_COMPLETE);
  }
}

TEST_F(PatientWaitTest, SaysWhyTheEventFailed) {
  const cl_event event = gate();
  clSetUserEventStatus(event, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(wait_patiently(event), CL_OUT_OF_RESOURCES);
}

TEST_F(PatientWaitTest, TakesLittleOfACore) {
  const cl_event event = gate();
  std::future<std::chrono::nanoseconds> wait = std::async(std::launch::async, [event] {
    const std::chrono::nanoseconds begin = processor_time();
    wait_patiently(event);
    return processor_time() - begin;
  });
  EXPECT_EQ(wait.wait_for(milliseconds(500)), std::future_status::timeout);
  clSetUserEventStatus(event, CL_COMPLETE);
  EXPECT_LT(wait.get(), milliseconds(125));
}

}  // namespace
}  // namespace remotecl::server
