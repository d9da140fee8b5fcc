// Commands that nobody flushes reach their servers. A monitor, which has no session, reports their arrival: a question
// over the session itself would send the commands that wait there.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "icd/command_buffers.h"
#include "icd/fixture.h"
#include "runtime/client/session/monitor.h"
#include "support/child_process.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;

// What a daemon has heard of all its sessions.
class Arrivals {
 public:
  explicit Arrivals(std::size_t daemon)
      : monitor_(parse_server_name(Environment::get().daemon(daemon).address(), 0)), before_(commands()) {}

  std::uint64_t commands() {
    std::uint64_t count = 0;
    const StatusReply reply = monitor_.ask();
    reply.status.sessions.for_each([&](const SessionStatus& session) { count += session.commands; });
    return count;
  }
  std::uint64_t memory() {
    std::uint64_t size = 0;
    const StatusReply reply = monitor_.ask();
    reply.status.devices.for_each([&](const DeviceStatus& device) { size += device.memory_used; });
    return size;
  }
  // Whether so many more commands come, sooner or later.
  bool come(std::uint64_t count) {
    return becomes_true([&] { return commands() >= before_ + count; });
  }
  template <class Condition>
  static bool becomes_true(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  Monitor monitor_;
  const std::uint64_t before_;
};

class SubmissionTest : public RemoteTest {
 protected:
  SubmissionTest() {
    check(set_arg(add_, 0, buffer_));
    check(set_arg(add_, 1, 1));
    for (const cl_command_queue queue : {cl_command_queue(queue_), cl_command_queue(other_)}) {
      check(run(queue, add_, kCount));
      check(clFinish(queue));
    }
  }

  static constexpr std::size_t kCount = 16;
  Owned<cl_kernel> add_ = kernel("add");
  Owned<cl_mem> buffer_ = make_buffer(context_, numbers(kCount));
};

TEST_F(SubmissionTest, LoneCommand) {
  Arrivals arrivals(1);
  check(run(other_, add_, kCount));
  EXPECT_TRUE(arrivals.come(1));
}

TEST_F(SubmissionTest, CommandsInARow) {
  Arrivals arrivals(1);
  for (int i = 0; i < 20; ++i) check(run(other_, add_, kCount));
  EXPECT_TRUE(arrivals.come(20));
}

TEST_F(SubmissionTest, CommandAfterManyThatWereAwaited) {
  for (int i = 0; i < 50; ++i) {
    check(run(other_, add_, kCount));
    check(clFinish(other_));
  }
  Arrivals arrivals(1);
  check(run(other_, add_, kCount));
  EXPECT_TRUE(arrivals.come(1));
}

TEST_F(SubmissionTest, CommandOfAServerBesideOneThatIsWaitedFor) {
  const Owned<cl_mem> elsewhere = make_buffer(context_, numbers(kCount));
  Arrivals arrivals(1);
  check(run(other_, add_, kCount));
  check(set_arg(add_, 0, elsewhere));
  check(run(queue_, add_, kCount));
  check(clFinish(queue_));
  EXPECT_TRUE(arrivals.come(1));
}

TEST_F(SubmissionTest, UnmappedMemory) {
  cl_int error = CL_SUCCESS;
  void* const mapped = clEnqueueMapBuffer(other_, buffer_, CL_TRUE, CL_MAP_WRITE, 0, 4, 0, nullptr, nullptr, &error);
  check(error);
  Arrivals arrivals(1);
  check(clEnqueueUnmapMemObject(other_, buffer_, mapped, 0, nullptr, nullptr));
  EXPECT_TRUE(arrivals.come(1));
}

TEST_F(SubmissionTest, BytesOfAReadThatNobodyWaitsFor) {
  const Owned<cl_mem> content = make_buffer(context_, std::vector<int>(1 << 20, 7));
  std::vector<int> memory(1 << 20, 0);
  std::atomic_ref<int> last(memory.back());
  check(clEnqueueReadBuffer(other_, content, CL_FALSE, 0, memory.size() * 4, memory.data(), 0, nullptr, nullptr));
  EXPECT_TRUE(Arrivals::becomes_true([&] { return last.load() == 7; }));
  check(clFinish(other_));
}

TEST_F(SubmissionTest, ReleasedMemoryIsGivenBack) {
  Arrivals arrivals(1);
  const std::uint64_t before = arrivals.memory();
  Owned<cl_mem> large = make_buffer(context_, std::vector<int>(4 << 20, 1));
  check(set_arg(add_, 0, large));
  check(run(other_, add_, kCount));
  check(clFinish(other_));
  EXPECT_GT(arrivals.memory(), before);
  check(set_arg(add_, 0, buffer_));
  large.reset();
  EXPECT_TRUE(Arrivals::becomes_true([&] { return arrivals.memory() <= before; }));
}

// The event of one server waits for a command of another one that nobody flushes.
TEST_F(SubmissionTest, EventThatIsAskedForAgainAndAgain) {
  Owned<cl_event> first, second;
  check(run(queue_, add_, kCount, {}, first.out()));
  check(run(other_, add_, kCount, {first}, second.out()));
  EXPECT_TRUE(Arrivals::becomes_true([&] { return status(second) == CL_COMPLETE; }));
}

TEST_F(SubmissionTest, CallbackOfACommandBehindAnotherServers) {
  std::atomic<bool> called{false};
  Owned<cl_event> first, second;
  check(run(queue_, add_, kCount, {}, first.out()));
  check(run(other_, add_, kCount, {first}, second.out()));
  check(clSetEventCallback(
      second, CL_COMPLETE, [](cl_event, cl_int, void* data) { static_cast<std::atomic<bool>*>(data)->store(true); },
      &called));
  EXPECT_TRUE(Arrivals::becomes_true([&] { return called.load(); }));
}

TEST_F(SubmissionTest, CommandsBehindAUserEvent) {
  Arrivals arrivals(1);
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> done;
  check(run(other_, add_, kCount, {gate}, done.out()));
  EXPECT_TRUE(arrivals.come(1));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(Arrivals::becomes_true([&] { return status(done) == CL_COMPLETE; }));
}

// A server that has stopped reading holds up the thread that goes on writing to it, and nobody else: no lock that other
// threads of the context need is held meanwhile.
class StoppedServerTest : public SubmissionTest {
 protected:
  // `flood` enqueues a command on the server, and is called until it stands still there; `work` must go on meanwhile.
  void expect_to_go_on(const std::function<void()>& flood, const std::function<void()>& work) {
    check(clFinish(other_));
    Environment::get().daemon(1).signal(SIGSTOP);
    std::atomic<int> commands{0};
    std::atomic<bool> enough{false};
    auto writing = std::async(std::launch::async, [&] {
      for (; !enough; ++commands) flood();
    });
    // Sockets take some megabytes.
    for (int before = -1; before != commands; std::this_thread::sleep_for(200ms)) before = commands;
    const auto working = std::async(std::launch::async, work);
    EXPECT_EQ(working.wait_for(kPatience), std::future_status::ready);
    enough = true;
    Environment::get().daemon(1).signal(SIGCONT);
    writing.get();
    working.wait();
    check(clFinish(other_));
  }
};

TEST_F(StoppedServerTest, WritesHoldUpNobodyElse) {
  const std::vector<char> content(32u << 10);
  const Owned<cl_mem> flooded = make_buffer(context_, content.size());
  const Owned<cl_mem> elsewhere = make_buffer(context_, numbers(kCount));
  check(set_arg(add_, 0, elsewhere));
  const auto write = [&] {
    check(clEnqueueWriteBuffer(other_, flooded, CL_FALSE, 0, content.size(), content.data(), 0, nullptr, nullptr));
  };
  write();
  expect_to_go_on(write, [&] {
    for (int i = 0; i < 100; ++i) {
      check(run(queue_, add_, kCount));
      check(clFinish(queue_));
    }
  });
}

TEST_F(StoppedServerTest, LaunchesHoldUpNobodyWhoUsesTheKernel) {
  const Owned<cl_program> source = build(context_, "kernel void nothing(long16 value) {}");
  const Owned<cl_kernel> nothing = make_kernel(source, "nothing");
  const cl_long16 value{};
  check(set_arg(nothing, 0, value));
  for (const cl_command_queue queue : {cl_command_queue(queue_), cl_command_queue(other_)}) {
    check(run(queue, nothing, 1));
    check(clFinish(queue));
  }
  expect_to_go_on(
      [&] {
        check(set_arg(nothing, 0, value));
        check(run(other_, nothing, 1));
      },
      [&] {
        for (int i = 0; i < 100; ++i) {
          check(run(queue_, nothing, 1));
          check(clFinish(queue_));
        }
      });
}

TEST_F(StoppedServerTest, AQuestionAboutReplaysHoldsUpNoOtherCallForTheCommandBuffer) {
  Recorded commands(other_);
  commands.barrier();
  commands.finalize();
  expect_to_go_on(
      [&] {
        // The question whether the last one has ended waits only for a while; then this one is refused.
        const cl_int error = commands.replay();
        if (error != CL_INVALID_OPERATION) check(error);
        commands.state();
      },
      [&] {
        EXPECT_EQ(CommandBufferApi::get().barrier(commands, nullptr, 0, nullptr, nullptr, nullptr),
                  CL_INVALID_OPERATION);
      });
}

}  // namespace
}  // namespace remotecl::testing
