// The order of an in-order queue on the automatic device, over three daemons, when commands are refused and servers
// lost.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "extras/scheduling/icd/automatic_device_fixture.h"
#include "icd/fake_driver.h"

namespace remotecl::testing {
namespace {

class AutomaticOrderTest : public FakeDriverTest {
 protected:
  const cl_device_id device_ = automatic_device("round-robin");
  const Owned<cl_context> context_ = make_context({device_});
  const Owned<cl_command_queue> queue_ = make_queue(context_, device_, CL_QUEUE_PROFILING_ENABLE);
  const Owned<cl_kernel> fill_ = make_kernel(build(context_, "fill_mv"), "fill_mv");

  // Fills a buffer of its own, so that only the queue orders it. Returns the server that it runs on.
  std::string enqueue(Owned<cl_event>& event) {
    buffers_.push_back(make_buffer(context_, kCount * sizeof(int)));
    set_arguments(fill_, buffers_.back(), 1);
    check(run(queue_, fill_, kCount, {}, event.out()));
    return explain(event)["device"]["server"].get<std::string>();
  }
  static cl_ulong time(const Owned<cl_event>& event, cl_profiling_info name) {
    return value<cl_ulong>(clGetEventProfilingInfo, event.get(), name);
  }
  static void expect_order(const Owned<cl_event>& first, const Owned<cl_event>& second) {
    check(clWaitForEvents(1, second.pointer()));
    check(clWaitForEvents(1, first.pointer()));
    EXPECT_GE(time(second, CL_PROFILING_COMMAND_START), time(first, CL_PROFILING_COMMAND_END));
  }

  std::vector<Owned<cl_mem>> buffers_;
};

TEST_F(AutomaticOrderTest, ARefusedCommandLeavesTheOrderAsItWas) {
  std::vector<std::string> servers;
  Owned<cl_event> events[3], slow, next;
  for (auto& event : events) servers.push_back(enqueue(event));  // each member holds a buffer
  check(clFinish(queue_));
  command_driver("kernel-us=300000");
  ASSERT_EQ(enqueue(slow), servers[0]);
  // Of the member that has the next kernel.
  int nowhere = 0;
  EXPECT_EQ(clEnqueueUnmapMemObject(queue_, buffers_[1], &nowhere, 0, nullptr, nullptr), CL_INVALID_VALUE);
  ASSERT_EQ(enqueue(next), servers[1]);
  expect_order(slow, next);
}

// The last test, because a member is gone afterwards.
TEST_F(AutomaticOrderTest, ZzALostMemberLeavesTheOrderOfTheOthers) {
  command_driver("kernel-us=1000000");
  Owned<cl_event> slow, lost, next;
  const std::string first = enqueue(slow);
  const std::string second = enqueue(lost);
  ASSERT_NE(first, second);
  for (std::size_t i = 0; i < 3; ++i) {
    if (Environment::get().daemon(i).address() == second) Environment::get().daemon(i).kill();
  }
  EXPECT_NE(clWaitForEvents(1, lost.pointer()), CL_SUCCESS);
  const std::string third = enqueue(next);
  ASSERT_NE(third, first);
  ASSERT_NE(third, second);
  expect_order(slow, next);
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_RECONNECT", "0", 0);
  return remotecl::testing::run_with_fake_daemons(3, argc, argv);
}
