// Programs over servers that send data and events to each other. The last daemon is killed by the last test.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "icd/command_buffers.h"
#include "icd/fixture.h"
#include "icd/library.h"
#include "icd/statistics.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCount = 2u << 20;  // ints

class PeerTest : public ::testing::Test {
 protected:
  cl_device_id device(std::size_t index) { return Environment::get().devices().at(index); }
  // Adds 1 to every number `rounds` times, on the two queues in turns; each round waits for the one before.
  Owned<cl_event> alternate(cl_mem buffer, cl_command_queue one, cl_command_queue other, int rounds) {
    check(clSetKernelArg(add_, 0, sizeof buffer, &buffer));
    check(set_arg(add_, 1, 1));
    Owned<cl_event> last;
    for (int round = 0; round < rounds; ++round) {
      Owned<cl_event> done;
      std::vector<cl_event> waits;
      if (last.get() != nullptr) waits.push_back(last);
      check(run(round % 2 == 0 ? one : other, add_, kCount, waits, done.out()));
      last = std::move(done);
    }
    check(clFlush(one));
    check(clFlush(other));
    return last;
  }

  Owned<cl_context> context_ = make_context({device(0), device(1), device(2)});
  Owned<cl_command_queue> queues_[3] = {make_queue(context_, device(0)), make_queue(context_, device(1)),
                                        make_queue(context_, device(2))};
  // Device by device, because servers that build one program together link up.
  Owned<cl_program> build_apart() {
    Owned<cl_program> program = make_program(context_, kSource);
    for (std::size_t i = 0; i < 3; ++i) {
      const cl_device_id one = device(i);
      check(clBuildProgram(program, 1, &one, nullptr, nullptr, nullptr));
    }
    return program;
  }
  Owned<cl_program> program_ = build_apart();
  Owned<cl_kernel> add_ = make_kernel(program_, "add");
};

// Stands before the other tests, which link these servers.
TEST_F(PeerTest, NobodyElseWaitsWhileServersAreLinked) {
  const Owned<cl_mem> moving = make_buffer(context_, std::vector<int>(kCount, 5)),
                      staying = make_buffer(context_, std::vector<int>(64, 5));
  check(set_arg(add_, 0, moving));
  check(set_arg(add_, 1, 1));
  check(run(queues_[1], add_, kCount));
  check(clFinish(queues_[1]));
  const Owned<cl_kernel> other = make_kernel(program_, "add");
  check(set_arg(other, 0, staying));
  check(set_arg(other, 1, 1));
  ASSERT_EQ(connected_links(), 0);
  Environment::get().daemon(1).signal(SIGSTOP);  // its handshake with the first one begins and does not end
  auto linking = std::async(std::launch::async, [&] { return run(queues_[0], add_, kCount); });
  while (statistics_json().find("\"state\":\"connecting\"") == std::string::npos) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(run(queues_[2], other, 64), CL_SUCCESS);
  EXPECT_EQ(clFinish(queues_[2]), CL_SUCCESS);
  EXPECT_EQ(linking.wait_for(0s), std::future_status::timeout) << "until the servers are linked";
  Environment::get().daemon(1).signal(SIGCONT);
  EXPECT_EQ(linking.get(), CL_SUCCESS);
  EXPECT_EQ(read<int>(queues_[0], moving, kCount), std::vector<int>(kCount, 7));
  EXPECT_EQ(read<int>(queues_[2], staying, 64), std::vector<int>(64, 6));
  EXPECT_EQ(connected_links(), 1);
}

// The same where a command waits for another server's event.
TEST_F(PeerTest, NobodyElseWaitsWhileServersAreLinkedForAnEvent) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 5));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> foreign, waiting;
  check(clEnqueueMarkerWithWaitList(queues_[1], 1, gate.pointer(), foreign.out()));
  check(clFinish(queues_[2]));
  Environment::get().daemon(1).signal(SIGSTOP);
  auto linking = std::async(
      std::launch::async, [&] { return clEnqueueMarkerWithWaitList(queues_[2], 1, foreign.pointer(), waiting.out()); });
  while (statistics_json().find("\"state\":\"connecting\"") == std::string::npos) std::this_thread::sleep_for(1ms);
  check(set_arg(add_, 0, buffer));
  check(set_arg(add_, 1, 1));
  EXPECT_EQ(run(queues_[0], add_, 64), CL_SUCCESS);
  EXPECT_EQ(clFinish(queues_[0]), CL_SUCCESS);
  EXPECT_EQ(linking.wait_for(0s), std::future_status::timeout);
  Environment::get().daemon(1).signal(SIGCONT);
  EXPECT_EQ(linking.get(), CL_SUCCESS);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(clWaitForEvents(1, waiting.pointer()), CL_SUCCESS);
}

// The same for those who ask about the command buffer that needs the link.
TEST_F(PeerTest, NobodyElseWaitsWhileServersAreLinkedForACommandBuffer) {
  const Owned<cl_mem> from = make_buffer(context_, std::vector<int>(64, 5)),
                      to = make_buffer(context_, std::vector<int>(64, 0));
  check(set_arg(add_, 0, from));
  check(set_arg(add_, 1, 1));
  check(run(queues_[2], add_, 64));
  check(clFinish(queues_[2]));
  check(clFinish(queues_[0]));
  Recorded commands(queues_[0]);
  commands.copy(from, to, 64 * sizeof(int));
  commands.finalize();
  Environment::get().daemon(2).signal(SIGSTOP);
  auto linking = std::async(std::launch::async, [&] { return commands.replay(); });
  while (statistics_json().find("\"state\":\"connecting\"") == std::string::npos) std::this_thread::sleep_for(1ms);
  auto state = std::async(std::launch::async, [&] { return commands.state(); });
  EXPECT_EQ(state.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(linking.wait_for(0s), std::future_status::timeout);
  Environment::get().daemon(2).signal(SIGCONT);
  EXPECT_EQ(linking.get(), CL_SUCCESS);
  EXPECT_EQ(state.get(), cl_uint{CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR});
  EXPECT_EQ(read<int>(queues_[0], to, 64), std::vector<int>(64, 6));
}

TEST_F(PeerTest, DataAndEventsDoNotPassTheClient) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount, 5));
  Owned<cl_event> warm = alternate(buffer, queues_[0], queues_[1], 2);
  check(clWaitForEvents(1, warm.pointer()));
  const std::uint64_t received = statistic("bytes_received"), sent = statistic("bytes_sent");
  constexpr int kRounds = 16;
  const Owned<cl_event> last = alternate(buffer, queues_[0], queues_[1], kRounds);
  check(clWaitForEvents(1, last.pointer()));
  EXPECT_LT(statistic("bytes_received") - received, 64u << 10);
  EXPECT_LT(statistic("bytes_sent") - sent, 64u << 10);
  EXPECT_EQ(read<int>(queues_[0], buffer, kCount), std::vector<int>(kCount, 5 + 2 + kRounds));
}

TEST_F(PeerTest, SmallBuffersToo) {
  const Owned<cl_mem> ordered = make_buffer(context_, std::vector<int>(64, 5));
  check(set_arg(add_, 0, ordered));
  check(set_arg(add_, 1, 1));
  Owned<cl_event> last;
  for (int round = 0; round < 300; ++round) {
    Owned<cl_event> done;
    std::vector<cl_event> waits;
    if (last.get() != nullptr) waits.push_back(last);
    check(run(queues_[round % 3], add_, 64, waits, done.out()));
    last = std::move(done);
  }
  EXPECT_EQ(read<int>(queues_[2], ordered, 64), std::vector<int>(64, 305));
}

// Parts that are small enough to be sent whole.
TEST_F(PeerTest, PartsOfALimitedCopyAreLimitedToo) {
  constexpr std::size_t kSize = 1 << 20, kPart = 32 << 10, kContent = 4000;
  const Owned<cl_mem> buffer = make_buffer(context_, kSize), size = make_buffer(context_, sizeof(cl_ulong)),
                      raw = make_buffer(context_, kPart), part = make_sub_buffer(buffer, kSize / 2, kPart);
  const auto fill = [&](std::size_t at, cl_mem what, std::size_t value, std::size_t bytes) {
    check(clEnqueueFillBuffer(queues_[at], what, &value, sizeof value, 0, bytes, 0, nullptr, nullptr));
    check(clFinish(queues_[at]));
  };
  const auto migrate = [&](std::size_t to, const Owned<cl_mem>& what) {
    check(clEnqueueMigrateMemObjects(queues_[to], 1, what.pointer(), 0, 0, nullptr, nullptr));
    check(clFinish(queues_[to]));
  };
  for (const std::size_t at : {2, 1, 0}) fill(at, buffer, 10 - at, kSize);
  fill(0, size, kContent, sizeof(cl_ulong));
  check(library_function<decltype(remotecl_set_content_size)>("remotecl_set_content_size")(buffer, size));
  migrate(1, buffer);
  migrate(2, part);  // from there, because the first server has sent the bytes before
  fill(0, size, kSize, sizeof(cl_ulong));
  check(clEnqueueCopyBuffer(queues_[2], part, raw, 0, 0, kPart, 0, nullptr, nullptr));
  EXPECT_EQ(read<std::size_t>(queues_[2], raw, kPart / sizeof(std::size_t)),
            std::vector<std::size_t>(kPart / sizeof(std::size_t), 10));
}

// The first reader on the other server waits for the failed command, the second one for nothing but the bytes.
TEST_F(PeerTest, FailureAfterTheLastWriteDoesNotSpoilTheBytes) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 5)),
                      other = make_buffer(context_, std::vector<int>(64, 0));
  check(set_arg(add_, 0, buffer));
  check(set_arg(add_, 1, 1));
  Owned<cl_event> written, failed, dependent, whole;
  check(run(queues_[0], add_, 64, {}, written.out()));
  const Owned<cl_event> gate = make_user_event(context_);
  const int seven = 7;
  check(clEnqueueFillBuffer(queues_[0], other, &seven, 4, 0, 256, 1, gate.pointer(), failed.out()));
  const cl_event waits[] = {failed, written};
  std::vector<int> first(64), second(64);
  check(clEnqueueReadBuffer(queues_[1], buffer, CL_FALSE, 0, 256, first.data(), 2, waits, dependent.out()));
  check(clEnqueueReadBuffer(queues_[1], buffer, CL_FALSE, 0, 256, second.data(), 1, written.pointer(), whole.out()));
  check(clFlush(queues_[1]));
  check(clSetUserEventStatus(gate, -5));
  EXPECT_EQ(clWaitForEvents(1, dependent.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(clWaitForEvents(1, whole.pointer()), CL_SUCCESS);
  EXPECT_EQ(second, std::vector<int>(64, 6));
}

// What a failed transfer should have brought is replaced by a later command, which does not fail with it.
TEST_F(PeerTest, FailedTransferDoesNotTakeBackWhatWasWrittenAfterIt) {
  for (const std::size_t count : {std::size_t{64}, kCount}) {
    const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(count, 5));
    check(set_arg(add_, 0, buffer));
    check(set_arg(add_, 1, 1));
    check(run(queues_[1], add_, count));
    check(clFinish(queues_[1]));
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> failed, reader, filled, early;
    check(run(queues_[1], add_, count, {gate}, failed.out()));
    std::vector<int> first(count), second(count);
    const std::size_t size = count * sizeof(int);
    check(clEnqueueReadBuffer(queues_[0], buffer, CL_FALSE, 0, size, first.data(), 1, failed.pointer(), reader.out()));
    const int seven = 7;
    check(clEnqueueFillBuffer(queues_[0], buffer, &seven, sizeof seven, 0, size, 0, nullptr, filled.out()));
    check(clEnqueueReadBuffer(queues_[0], buffer, CL_FALSE, 0, size, second.data(), 0, nullptr, early.out()));
    check(clFlush(queues_[0]));
    check(clSetUserEventStatus(gate, -5));
    EXPECT_EQ(clWaitForEvents(1, failed.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_EQ(clWaitForEvents(1, reader.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_EQ(clWaitForEvents(1, filled.pointer()), CL_SUCCESS);
    EXPECT_EQ(clWaitForEvents(1, early.pointer()), CL_SUCCESS);
    EXPECT_EQ(second, std::vector<int>(count, 7));
    EXPECT_EQ(read<int>(queues_[0], buffer, count), std::vector<int>(count, 7));
    EXPECT_EQ(read<int>(queues_[2], buffer, count), std::vector<int>(count, 7));
  }
}

// The same where it has been written on another server, and comes from there.
TEST_F(PeerTest, FailedTransferDoesNotFailReadersOfWhatCameAfterIt) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(kCount, 5));
  check(set_arg(add_, 0, buffer));
  check(set_arg(add_, 1, 1));
  check(run(queues_[1], add_, kCount));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> failed, reader, after[2], filled, second_reader;
  check(run(queues_[1], add_, kCount, {gate}, failed.out()));
  std::vector<int> first(kCount), second(kCount);
  const std::size_t size = kCount * sizeof(int);
  check(clEnqueueReadBuffer(queues_[0], buffer, CL_FALSE, 0, size, first.data(), 1, failed.pointer(), reader.out()));
  for (int i = 0; i < 2; ++i) check(clEnqueueMarkerWithWaitList(queues_[i], 0, nullptr, after[i].out()));
  const cl_event both[] = {after[0], after[1]};
  const int seven = 7;
  check(clEnqueueFillBuffer(queues_[2], buffer, &seven, sizeof seven, 0, size, 2, both, filled.out()));
  check(clEnqueueReadBuffer(queues_[0], buffer, CL_FALSE, 0, size, second.data(), 1, filled.pointer(),
                            second_reader.out()));
  for (const auto& queue : queues_) check(clFlush(queue));
  check(clSetUserEventStatus(gate, -5));
  EXPECT_EQ(clWaitForEvents(1, failed.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(clWaitForEvents(1, reader.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(clWaitForEvents(1, second_reader.pointer()), CL_SUCCESS);
  EXPECT_EQ(second, std::vector<int>(kCount, 7));
}

TEST_F(PeerTest, KilledServerStopsOnlyWhatNeedsIt) {
  const Owned<cl_kernel> spin = make_kernel(program_, "spin");
  const Owned<cl_mem> spun = make_buffer(context_, std::vector<int>(64, 0)),
                      doomed = make_buffer(context_, std::vector<int>(kCount, 1)),
                      kept = make_buffer(context_, std::vector<int>(kCount, 2));
  check(set_arg(spin, 0, spun));
  check(set_arg(spin, 1, 2'000'000'000));
  // Before the endless kernel, data has passed between all of them.
  const Owned<cl_event> warm = alternate(doomed, queues_[2], queues_[0], 3);
  check(clWaitForEvents(1, warm.pointer()));
  Owned<cl_event> endless, dependent;
  check(run(queues_[2], spin, 64, {}, endless.out()));
  check(clFlush(queues_[2]));
  const Owned<cl_command_queue> side = make_queue(context_, device(0));
  check(clEnqueueMarkerWithWaitList(side, 1, endless.pointer(), dependent.out()));
  check(clFlush(side));
  auto waiting = std::async(std::launch::async, [&] { return clWaitForEvents(1, dependent.pointer()); });
  const Owned<cl_event> last = alternate(kept, queues_[0], queues_[1], 30);
  std::this_thread::sleep_for(20ms);
  Environment::get().daemon(2).kill();
  ASSERT_EQ(waiting.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(waiting.get(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(clWaitForEvents(1, last.pointer()), CL_SUCCESS);
  EXPECT_EQ(read<int>(queues_[1], kept, kCount), std::vector<int>(kCount, 32));
  const Owned<cl_event> again = alternate(kept, queues_[1], queues_[0], 4);
  EXPECT_EQ(clWaitForEvents(1, again.pointer()), CL_SUCCESS);
  EXPECT_EQ(read<int>(queues_[0], kept, kCount), std::vector<int>(kCount, 36));
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 1);  // the loss is meant
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(3));
  return RUN_ALL_TESTS();
}
