// What a command on another server does not wait for: commands that it has nothing to do with, behind those whose bytes
// it needs. They wait for an event that the program sets once it has seen the result.
#include <thread>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNumbers = 1 << 16;  // ints; more than a message takes
constexpr cl_command_queue_properties kOrders[] = {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
constexpr char kWriters[] = R"(
kernel void both(global int* one, global int* two) {
  one[get_global_id(0)] = 1;
  two[get_global_id(0)] = 2;
}
kernel void sum(global const int* one, global const int* two, global int* to) {
  to[get_global_id(0)] = one[get_global_id(0)] + two[get_global_id(0)];
}
kernel void put(global int* to, int at) { to[at] = at; })";

class UnrelatedCommandsTest : public RemoteTest {
 protected:
  Owned<cl_mem> one_ = make_buffer(context_, kNumbers * sizeof(int)),
                two_ = make_buffer(context_, kNumbers * sizeof(int)),
                sums_ = make_buffer(context_, kNumbers * sizeof(int));
  Owned<cl_program> writers_ = build(context_, kWriters);
  Owned<cl_kernel> both_ = make_kernel(writers_, "both"), sum_ = make_kernel(writers_, "sum"),
                   put_ = make_kernel(writers_, "put");

  UnrelatedCommandsTest() {
    check(set_arg(both_, 0, one_));
    check(set_arg(both_, 1, two_));
    check(set_arg(sum_, 0, one_));
    check(set_arg(sum_, 1, two_));
    check(set_arg(sum_, 2, sums_));
  }
  cl_int fill(cl_command_queue queue, cl_mem buffer, int value) {
    return clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, kNumbers * sizeof value, 0, nullptr, nullptr);
  }
  Owned<cl_event> hold_back(cl_command_queue queue, cl_event gate) {
    Owned<cl_event> held;
    check(clEnqueueMarkerWithWaitList(queue, 1, &gate, held.out()));
    check(clFlush(queue));
    return held;
  }
  // Bytes that are written after `used` come to the other device before the gate is open.
  void expect_new_bytes(cl_event used, cl_event gate, int value) {
    Owned<cl_event> written, arrived;
    check(clEnqueueFillBuffer(queue_, one_, &value, sizeof value, 0, kNumbers * sizeof(int), 1, &used, written.out()));
    std::vector<int> got(kNumbers);
    check(clEnqueueReadBuffer(other_, one_, CL_FALSE, 0, kNumbers * sizeof(int), got.data(), 1, written.pointer(),
                              arrived.out()));
    check(clFlush(queue_));
    check(clFlush(other_));
    EXPECT_TRUE(ends(arrived));
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    EXPECT_EQ(got, std::vector<int>(kNumbers, value));
  }
};

TEST_F(UnrelatedCommandsTest, BehindTheWriterOfTwoBuffers) {
  for (const auto order : kOrders) {
    const Owned<cl_command_queue> producer = make_queue(context_, device(), order);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> written, summed;
    check(run(producer, both_, kNumbers, {}, written.out()));
    const Owned<cl_event> held = hold_back(producer, gate);
    check(run(other_, sum_, kNumbers, {written}, summed.out()));
    check(clFlush(other_));
    EXPECT_TRUE(ends(summed)) << order;
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    EXPECT_EQ(read<int>(other_, sums_, kNumbers), std::vector<int>(kNumbers, 3));
    check(clFinish(producer));
  }
}

TEST_F(UnrelatedCommandsTest, BehindAWriterThatHasEnded) {
  for (const auto order : kOrders) {
    const Owned<cl_command_queue> producer = make_queue(context_, device(), order);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> written, summed;
    check(run(producer, both_, kNumbers, {}, written.out()));
    check(clWaitForEvents(1, written.pointer()));
    const Owned<cl_event> held = hold_back(producer, gate);
    check(run(other_, sum_, kNumbers, {}, summed.out()));
    check(clFlush(other_));
    EXPECT_TRUE(ends(summed)) << order;
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    EXPECT_EQ(read<int>(other_, sums_, kNumbers), std::vector<int>(kNumbers, 3));
    check(clFinish(producer));
  }
}

// The program has no event of the writer. In an in-order queue that of any later command will do.
TEST_F(UnrelatedCommandsTest, BehindACommandThatTellsOfTheWritersEnd) {
  for (const auto order : kOrders) {
    const Owned<cl_command_queue> producer = make_queue(context_, device(), order);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> later, summed;
    check(run(producer, both_, kNumbers));
    if (order == 0) {
      check(clEnqueueCopyBuffer(producer, one_, sums_, 0, 0, sizeof(int), 0, nullptr, later.out()));
    } else {
      check(clEnqueueMarkerWithWaitList(producer, 0, nullptr, later.out()));
    }
    const Owned<cl_event> held = hold_back(producer, gate);
    check(run(other_, sum_, kNumbers, {later}, summed.out()));
    check(clFlush(other_));
    EXPECT_TRUE(ends(summed)) << order;
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    EXPECT_EQ(read<int>(other_, sums_, kNumbers), std::vector<int>(kNumbers, 3));
    check(clFinish(producer));
  }
}

// It has not waited for the writer, but the bytes come all the same for a command that does not wait for it.
TEST_F(UnrelatedCommandsTest, ACommandThatFailsAfterTheWriterHarmsNoBytes) {
  const Owned<cl_command_queue> reader = make_queue(context_, device(1));
  for (int round = 1; round <= 20; ++round) {
    const Owned<cl_event> failing = make_user_event(context_);
    Owned<cl_event> failed, arrived;
    std::vector<int> first(kNumbers), second(kNumbers);
    check(fill(queue_, one_, round));
    check(clEnqueueMarkerWithWaitList(queue_, 1, failing.pointer(), failed.out()));
    check(fill(queue_, two_, round));
    check(clEnqueueReadBuffer(reader, one_, CL_FALSE, 0, kNumbers * sizeof(int), first.data(), 1, failed.pointer(),
                              nullptr));
    check(clEnqueueReadBuffer(reader, one_, CL_FALSE, 0, kNumbers * sizeof(int), second.data(), 0, nullptr,
                              arrived.out()));
    check(clFlush(reader));
    check(clSetUserEventStatus(failing, -1));
    EXPECT_TRUE(ends(arrived));
    EXPECT_EQ(second, std::vector<int>(kNumbers, round));
    clFinish(queue_);
    clFinish(reader);
  }
}

// The reader lacks bytes on both sides of those that another command has brought.
TEST_F(UnrelatedCommandsTest, AWriterThatFailsHarmsNoCommandThatDoesNotWaitForIt) {
  check(fill(queue_, one_, 1));
  check(clFinish(queue_));
  const Owned<cl_event> failing = make_user_event(context_);
  Owned<cl_event> written, arrived;
  const int twos = 2;
  std::vector<int> middle(kNumbers / 2), whole(kNumbers);
  check(clEnqueueFillBuffer(queue_, one_, &twos, sizeof twos, 0, kNumbers * sizeof(int), 1, failing.pointer(),
                            written.out()));
  check(fill(queue_, two_, 1));
  check(clEnqueueReadBuffer(other_, one_, CL_FALSE, kNumbers, kNumbers / 2 * sizeof(int), middle.data(), 0, nullptr,
                            nullptr));
  check(
      clEnqueueReadBuffer(other_, one_, CL_FALSE, 0, kNumbers * sizeof(int), whole.data(), 0, nullptr, arrived.out()));
  check(clFlush(other_));
  check(clSetUserEventStatus(failing, -1));
  EXPECT_TRUE(ends(arrived));
  EXPECT_EQ(whole, std::vector<int>(kNumbers, 1));
  EXPECT_NE(clWaitForEvents(1, written.pointer()), CL_SUCCESS);
  clFinish(queue_);
}

TEST_F(UnrelatedCommandsTest, BehindAUserThatHasEnded) {
  for (const auto order : kOrders) {
    const Owned<cl_command_queue> user = make_queue(context_, device(1), order);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> used, summed;
    check(set_arg(put_, 0, one_));
    check(set_arg(put_, 1, 0));
    check(run(user, put_, 1, {}, used.out()));
    check(clWaitForEvents(1, used.pointer()));
    const Owned<cl_event> held = hold_back(user, gate);
    check(run(queue_, both_, kNumbers));
    check(clFinish(queue_));
    check(run(other_, sum_, kNumbers, {}, summed.out()));
    check(clFlush(other_));
    EXPECT_TRUE(ends(summed)) << order;
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    EXPECT_EQ(read<int>(other_, sums_, kNumbers), std::vector<int>(kNumbers, 3));
    check(clFinish(user));
  }
}

TEST_F(UnrelatedCommandsTest, BehindAUserWhoseEndNobodyHasAskedFor) {
  for (const auto order : kOrders) {
    const Owned<cl_command_queue> user = make_queue(context_, device(1), order);
    const Owned<cl_event> gate = make_user_event(context_);
    check(fill(queue_, one_, 1));
    check(clFinish(queue_));
    SCOPED_TRACE(order);
    Owned<cl_event> used;
    check(clEnqueueCopyBuffer(user, one_, two_, 0, 0, kNumbers * sizeof(int), 0, nullptr, used.out()));
    const Owned<cl_event> held = hold_back(user, gate);
    expect_new_bytes(used, gate, 2);
    EXPECT_EQ(read<int>(user, two_, kNumbers), std::vector<int>(kNumbers, 1));
    check(clFinish(user));
  }
}

// The program holds an event of a later command only, and the kernel has brought the bytes that are replaced.
TEST_F(UnrelatedCommandsTest, BehindAUserWithoutAnEvent) {
  for (const auto order : kOrders) {
    for (const bool has_event : {false, true}) {
      const Owned<cl_command_queue> user = make_queue(context_, device(1), order);
      const Owned<cl_event> gate = make_user_event(context_);
      check(fill(queue_, one_, 1));
      check(fill(queue_, two_, 2));
      check(clFinish(queue_));
      SCOPED_TRACE(::testing::Message() << order << " " << has_event);
      Owned<cl_event> used;
      {
        Owned<cl_event> released;
        check(run(user, sum_, kNumbers, {}, has_event ? released.out() : nullptr));
      }
      check(clEnqueueMarkerWithWaitList(user, 0, nullptr, used.out()));
      const Owned<cl_event> held = hold_back(user, gate);
      expect_new_bytes(used, gate, 7);
      EXPECT_EQ(read<int>(user, sums_, kNumbers), std::vector<int>(kNumbers, 3));
      check(clFinish(user));
    }
  }
}

// A kernel without an event that waits for bytes tells of its failure as any other one does.
TEST_F(UnrelatedCommandsTest, AKernelThatFailsAfterItsBytesHaveComeFailsItsQueue) {
  check(fill(queue_, one_, 1));
  check(fill(queue_, two_, 2));
  check(clFinish(queue_));
  const Owned<cl_event> failing = make_user_event(context_);
  check(run(other_, sum_, kNumbers, {failing}));
  check(clFlush(other_));
  check(clSetUserEventStatus(failing, -1));
  EXPECT_LT(clFinish(other_), 0);
  check(clFinish(other_));
  check(run(other_, sum_, kNumbers));
  EXPECT_EQ(read<int>(other_, sums_, kNumbers), std::vector<int>(kNumbers, 3));
}

// The end of the last of several commands says nothing about the others.
TEST_F(UnrelatedCommandsTest, EveryUnfinishedWriterIsAwaited) {
  const Owned<cl_command_queue> producer = make_queue(context_, device(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  check(fill(producer, one_, 7));
  check(clFinish(producer));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> written[3], arrived;
  for (int at = 0; at < 3; ++at) {
    check(set_arg(put_, 0, one_));
    check(set_arg(put_, 1, at));
    check(run(producer, put_, 1, at == 1 ? std::vector<cl_event>{gate} : std::vector<cl_event>{}, written[at].out()));
    if (at != 1) check(clWaitForEvents(1, written[at].pointer()));
  }
  const cl_event waits[] = {written[2], written[1]};
  std::vector<int> read(kNumbers);
  check(clEnqueueReadBuffer(other_, one_, CL_FALSE, 0, kNumbers * sizeof(int), read.data(), 2, waits, arrived.out()));
  check(clFlush(other_));
  std::this_thread::sleep_for(20ms);  // a transfer that does not wait would have begun
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clWaitForEvents(1, arrived.pointer()));
  EXPECT_EQ(std::vector<int>(read.begin(), read.begin() + 4), (std::vector<int>{0, 1, 2, 7}));
}

TEST_F(UnrelatedCommandsTest, EveryUnfinishedReaderIsAwaited) {
  const Owned<cl_command_queue> reader = make_queue(context_, device(1), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  check(fill(queue_, one_, 1));
  check(clFinish(queue_));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> early, late, arrived;
  check(clEnqueueCopyBuffer(reader, one_, two_, 0, 0, kNumbers * sizeof(int), 1, gate.pointer(), early.out()));
  check(clEnqueueCopyBuffer(reader, one_, sums_, 0, 0, kNumbers * sizeof(int), 0, nullptr, late.out()));
  check(clWaitForEvents(1, late.pointer()));
  check(fill(queue_, one_, 2));
  check(clFinish(queue_));
  std::vector<int> read_back(kNumbers);
  check(clEnqueueReadBuffer(other_, one_, CL_FALSE, 0, kNumbers * sizeof(int), read_back.data(), 0, nullptr,
                            arrived.out()));
  check(clFlush(other_));
  std::this_thread::sleep_for(20ms);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clWaitForEvents(1, arrived.pointer()));
  EXPECT_EQ(read_back, std::vector<int>(kNumbers, 2));
  EXPECT_EQ(read<int>(other_, two_, kNumbers), std::vector<int>(kNumbers, 1));
  check(clFinish(reader));
}

}  // namespace
}  // namespace remotecl::testing
