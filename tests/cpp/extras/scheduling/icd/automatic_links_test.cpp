// A queue on the automatic device while a link between two of its members' servers is being made.
#include <signal.h>

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "icd/automatic_device.h"
#include "icd/fixture.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

// Each test links two servers that no other one has linked.
class AutomaticLinksTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 1024;
  static constexpr std::size_t kSize = kCount * sizeof(int);

  Owned<cl_command_queue> queue(cl_command_queue_properties properties) {
    return make_queue(context_, device_, properties);
  }
  // A buffer that only this member holds, because a command of the queue has written it there.
  Owned<cl_mem> buffer_on(std::size_t member, cl_command_queue queue, int value) {
    Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount, 0));
    const auto prefetch = library_function<decltype(remotecl_prefetch)>("remotecl_prefetch");
    check(prefetch(Environment::get().devices().at(member), 1, buffer.pointer(), 0, nullptr, nullptr));
    check(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, kSize, 0, nullptr, nullptr));
    check(clFinish(queue));
    return buffer;
  }
  // Runs `command`, which needs a link, while the server of `stopped` says nothing. `other` has to return meanwhile.
  static void expect_no_wait(std::size_t stopped, const std::function<cl_int()>& command,
                             const std::function<cl_int()>& other) {
    Environment::get().daemon(stopped).signal(SIGSTOP);
    auto linking = std::async(std::launch::async, command);
    while (statistics_json().find("\"state\":\"connecting\"") == std::string::npos) std::this_thread::sleep_for(1ms);
    auto going_on = std::async(std::launch::async, other);
    EXPECT_EQ(going_on.wait_for(5s), std::future_status::ready);
    EXPECT_EQ(linking.wait_for(0s), std::future_status::timeout) << "until the servers are linked";
    Environment::get().daemon(stopped).signal(SIGCONT);
    EXPECT_EQ(linking.get(), CL_SUCCESS);
    EXPECT_EQ(going_on.get(), CL_SUCCESS);
  }

  const cl_device_id device_ = automatic_device("round-robin");
  const Owned<cl_context> context_ = make_context({device_});
};

TEST_F(AutomaticLinksTest, OthersEnqueueWhileACommandWaitsForALink) {
  const Owned<cl_command_queue> in_order = queue(0);
  const Owned<cl_mem> from = buffer_on(1, in_order, 5), to = buffer_on(0, in_order, 6);
  ASSERT_EQ(connected_links(), 0);
  expect_no_wait(
      1, [&] { return clEnqueueCopyBuffer(in_order, from, to, 0, 0, kSize, 0, nullptr, nullptr); },
      [&] {
        check(clEnqueueMarkerWithWaitList(in_order, 0, nullptr, nullptr));
        return clFlush(in_order);
      });
  EXPECT_EQ(read<int>(in_order, to, kCount), std::vector<int>(kCount, 5));
  EXPECT_EQ(connected_links(), 1);
}

TEST_F(AutomaticLinksTest, OthersEnqueueWhileABarrierWaitsForALink) {
  const Owned<cl_command_queue> out_of_order = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Owned<cl_mem> one = buffer_on(2, out_of_order, 5), other = buffer_on(0, out_of_order, 6);
  Owned<cl_event> barrier;
  expect_no_wait(
      2, [&] { return clEnqueueBarrierWithWaitList(out_of_order, 0, nullptr, barrier.out()); },
      [&] {
        const int value = 7;
        check(clEnqueueFillBuffer(out_of_order, other, &value, sizeof value, 0, kSize, 0, nullptr, nullptr));
        return clFlush(out_of_order);
      });
  EXPECT_EQ(clWaitForEvents(1, barrier.pointer()), CL_SUCCESS);
  EXPECT_EQ(read<int>(out_of_order, other, kCount), std::vector<int>(kCount, 7));
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(3));
  return RUN_ALL_TESTS();
}
