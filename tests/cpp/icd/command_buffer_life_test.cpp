// cl_khr_command_buffer: references, states, several replays at once, times.
#include "icd/command_buffers.h"

namespace remotecl::testing {
namespace {

using CommandBufferLifeTest = CommandBufferTest;

TEST_F(CommandBufferLifeTest, KeepsWhatItUses) {
  const Owned<cl_mem> result = make_buffer(context_, kSize);
  Recorded commands(queue_);
  {
    const Owned<cl_mem> buffer = make_buffer(context_, kSize);
    const Owned<cl_kernel> add = this->add(buffer, 2);
    commands.fill(buffer, 5, kSize);
    commands.kernel(add, kCount);
    commands.copy(buffer, result, kSize);
  }
  commands.finalize();
  ASSERT_EQ(commands.replay(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, result, kCount), all(7));
}

TEST_F(CommandBufferLifeTest, MayBeReleasedWhilePending) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> end;
  {
    const Owned<cl_kernel> add = this->add(buffer, 3);
    Recorded commands(queue_);
    for (int i = 0; i < 10; ++i) commands.kernel(add, kCount);
    commands.finalize();
    ASSERT_EQ(commands.replay({gate}, end.out()), CL_SUCCESS);
  }
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clWaitForEvents(1, end.pointer()));
  EXPECT_EQ(read<int>(queue_, buffer, kCount), all(30));
}

TEST_F(CommandBufferLifeTest, TellsItsState) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
  const Owned<cl_kernel> add = this->add(buffer, 1);
  const Owned<cl_event> gate = make_user_event(context_);
  Recorded commands(queue_);
  commands.kernel(add, kCount);
  EXPECT_EQ(commands.state(), cl_uint{CL_COMMAND_BUFFER_STATE_RECORDING_KHR});
  commands.finalize();
  EXPECT_EQ(commands.state(), cl_uint{CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR});
  ASSERT_EQ(commands.replay({gate}), CL_SUCCESS);
  EXPECT_EQ(commands.state(), cl_uint{CL_COMMAND_BUFFER_STATE_PENDING_KHR});
  EXPECT_EQ(commands.replay(), CL_INVALID_OPERATION);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(commands.state(), cl_uint{CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR});
}

TEST_F(CommandBufferLifeTest, AnyBlockingCallLetsItBeReplayed) {
  const Owned<cl_command_queue> out_of_order = make_out_of_order();
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
  const Owned<cl_kernel> add = this->add(buffer, 1);
  for (const cl_command_queue queue : {queue_.get(), out_of_order.get()}) {
    Recorded commands(queue);
    commands.kernel(add, kCount);
    commands.finalize();
    for (int round = 0; round < 200; ++round) {
      Owned<cl_event> end, marker;
      ASSERT_EQ(commands.replay({}, end.out()), CL_SUCCESS) << round;
      std::vector<int> content(kCount);
      switch (round % 4) {
        case 0:  // a read without an event
          check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kSize, content.data(), 1, end.pointer(), nullptr));
          break;
        case 1:
          check(clEnqueueMarkerWithWaitList(queue, 1, end.pointer(), marker.out()));
          check(clWaitForEvents(1, marker.pointer()));
          break;
        case 2:
          check(clWaitForEvents(1, end.pointer()));
          break;
        default:
          check(clFinish(queue));
      }
    }
  }
  EXPECT_EQ(read<int>(queue_, buffer, kCount), all(400));
}

TEST_F(CommandBufferLifeTest, SimultaneousUse) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
  const Owned<cl_kernel> add = this->add(buffer, 1);
  const Owned<cl_event> gate = make_user_event(context_);
  const Owned<cl_command_queue> second = make_queue(context_, device(0));
  Recorded commands(queue_, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR);
  commands.kernel(add, kCount);
  commands.finalize();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(commands.replay({gate}), CL_SUCCESS);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  const Owned<cl_event> other_gate = make_user_event(context_);
  ASSERT_EQ(commands.replay({other_gate}), CL_SUCCESS);
  ASSERT_EQ(commands.replay_on(second), CL_SUCCESS);
  check(clFinish(second));
  EXPECT_EQ(commands.state(), cl_uint{CL_COMMAND_BUFFER_STATE_PENDING_KHR}) << "the one before still waits";
  check(clSetUserEventStatus(other_gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(commands.state(), cl_uint{CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR});
  EXPECT_EQ(read<int>(queue_, buffer, kCount), all(52));
}

TEST_F(CommandBufferLifeTest, ProfilesFromTheFirstToTheLastCommand) {
  for (const bool in_order : {true, false}) {
    const Owned<cl_command_queue> queue = make_queue(
        context_, device(0), CL_QUEUE_PROFILING_ENABLE | (in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
    const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount));
    const Owned<cl_kernel> slow = spin(buffer, 1'000'000);
    Owned<cl_event> one, five;
    check(run(queue, slow, kCount, {}, one.out()));
    check(clFinish(queue));
    Recorded commands(queue);
    Points last;
    for (int i = 0; i < 5; ++i) last = {commands.kernel(slow, kCount, last)};
    commands.finalize();
    ASSERT_EQ(commands.replay({}, five.out()), CL_SUCCESS);
    check(clFinish(queue));
    const auto time = [](cl_event event, cl_profiling_info name) {
      return value<cl_ulong>(clGetEventProfilingInfo, event, name);
    };
    const auto took = [&](cl_event event) {
      return time(event, CL_PROFILING_COMMAND_END) - time(event, CL_PROFILING_COMMAND_START);
    };
    EXPECT_LE(time(five, CL_PROFILING_COMMAND_QUEUED), time(five, CL_PROFILING_COMMAND_SUBMIT));
    EXPECT_LE(time(five, CL_PROFILING_COMMAND_SUBMIT), time(five, CL_PROFILING_COMMAND_START));
    EXPECT_GT(took(five), 2 * took(one)) << "five times the work";
  }
}

TEST_F(CommandBufferLifeTest, MayBeEmpty) {
  for (const bool in_order : {true, false}) {
    const Owned<cl_command_queue> queue = in_order ? make_queue(context_, device(0)) : make_out_of_order();
    Recorded commands(queue);
    commands.barrier({commands.barrier()});
    commands.finalize();
    Owned<cl_event> end;
    ASSERT_EQ(commands.replay({}, end.out()), CL_SUCCESS);
    EXPECT_EQ(clWaitForEvents(1, end.pointer()), CL_SUCCESS);
  }
}

}  // namespace
}  // namespace remotecl::testing
