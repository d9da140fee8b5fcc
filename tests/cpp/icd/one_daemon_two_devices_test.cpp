// Two devices of one server: each has memory of its own, and both share the connections that bytes come and go on, or
// have a channel each (REMOTECL_BULK_CHANNELS).
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>

#include "icd/svm_fixture.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

class TwoDevicesTest : public ::testing::Test {
 protected:
  static std::vector<cl_device_id> all_devices() {
    std::vector<cl_device_id> devices(2);
    check(clGetDeviceIDs(Environment::get().remote_platform(), CL_DEVICE_TYPE_ALL, 2, devices.data(), nullptr));
    return devices;
  }

  Owned<cl_context> context_ = make_context(all_devices());
  Owned<cl_command_queue> first_ = make_queue(context_, all_devices()[0]);
  Owned<cl_command_queue> second_ = make_queue(context_, all_devices()[1]);
  Owned<cl_program> program_ = build(context_, kSource);
  Owned<cl_kernel> add_ = make_kernel(program_, "add");
};

constexpr std::size_t kCounts[] = {16, 1u << 20};

bool is_set(const char* name, const std::string& value) {
  const char* const text = std::getenv(name);
  return text != nullptr && text == value;
}

std::vector<int> numbers(std::size_t count, int first) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// Memory on one device, and what the application has of it.
struct Side {
  cl_command_queue queue;
  Owned<cl_mem> buffer;
  std::vector<int> from, to;

  std::size_t size() const { return from.size() * sizeof(int); }
  void write(cl_bool blocking = CL_FALSE) {
    check(clEnqueueWriteBuffer(queue, buffer, blocking, 0, size(), from.data(), 0, nullptr, nullptr));
  }
  void read(cl_bool blocking = CL_FALSE, cl_event* event = nullptr) {
    check(clEnqueueReadBuffer(queue, buffer, blocking, 0, size(), to.data(), 0, nullptr, event));
  }
};

TEST_F(TwoDevicesTest, BufferFollowsTheKernels) {
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(count, 0));
    check(set_arg(add_, 0, buffer));
    for (int round = 1; round <= 20; ++round) {
      check(set_arg(add_, 1, 1));
      Owned<cl_event> first, second;
      check(run(first_, add_, count, {}, first.out()));
      check(set_arg(add_, 1, 100));
      check(run(second_, add_, count, {first}, second.out()));
      check(clWaitForEvents(1, second.pointer()));
      ASSERT_EQ(read<int>(round % 2 == 0 ? first_ : second_, buffer, count), std::vector<int>(count, 101 * round));
    }
  }
}

TEST_F(TwoDevicesTest, SharedMemoryFollowsTheKernels) {
  for (cl_device_id device : all_devices()) {
    if (value<cl_device_type>(clGetDeviceInfo, device, CL_DEVICE_TYPE) != CL_DEVICE_TYPE_CPU) {
      GTEST_SKIP() << "devices of one process share memory if they are CPUs";
    }
  }
  for (const std::size_t count : kCounts) {
    const Shared<int> data(context_, count);
    data.write(first_, std::vector<int>(count, 0));
    check(clSetKernelArgSVMPointer(add_, 0, data));
    for (int round = 1; round <= 20; ++round) {
      check(set_arg(add_, 1, 1));
      Owned<cl_event> first, second;
      check(run(first_, add_, count, {}, first.out()));
      check(set_arg(add_, 1, 100));
      check(run(second_, add_, count, {first}, second.out()));
      check(clWaitForEvents(1, second.pointer()));
      ASSERT_EQ(data.read(round % 2 == 0 ? first_ : second_), std::vector<int>(count, 101 * round));
    }
  }
}

// It would have to wait for an event that the program sets once it has seen the bytes.
TEST_F(TwoDevicesTest, ATransferDoesNotWaitForWhatTheWritersQueueGotLater) {
  for (const cl_command_queue_properties order : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}) {
    for (const std::size_t count : kCounts) {
      const Owned<cl_mem> buffer = make_buffer(context_, count * sizeof(int));
      const Owned<cl_command_queue> producer = make_queue(context_, all_devices()[0], order);
      const Owned<cl_event> gate = make_user_event(context_);
      const int sevens = 7;
      std::vector<int> got(count);
      Owned<cl_event> written, arrived;
      check(clEnqueueFillBuffer(producer, buffer, &sevens, sizeof sevens, 0, count * sizeof(int), 0, nullptr,
                                written.out()));
      check(clEnqueueMarkerWithWaitList(producer, 1, gate.pointer(), nullptr));
      check(clEnqueueReadBuffer(second_, buffer, CL_FALSE, 0, count * sizeof(int), got.data(), 1, written.pointer(),
                                arrived.out()));
      check(clFlush(producer));
      check(clFlush(second_));
      EXPECT_TRUE(ends(arrived)) << count;
      check(clSetUserEventStatus(gate, CL_COMPLETE));
      EXPECT_EQ(got, std::vector<int>(count, 7));
      check(clFinish(producer));
    }
  }
}

TEST_F(TwoDevicesTest, EachHasAChannelWhereSoManyAreWanted) {
  if (!is_set("REMOTECL_SHARED_MEMORY", "off") || !is_set("REMOTECL_BULK_CHANNELS", "2")) GTEST_SKIP();
  const bool has_four = is_set("REMOTECL_BULK_STREAMS", "4") || std::thread::hardware_concurrency() >= 16;
  const cl_uint connections = has_four ? 4 : 2;  // which the channels divide
  EXPECT_EQ(value<cl_uint>(clGetDeviceInfo, all_devices()[0], CL_DEVICE_REMOTECL_BULK_STREAMS), connections);
}

// Sizes that are one message, a pushed write, and several chunks.
TEST_F(TwoDevicesTest, BytesOfBothMoveAtTheSameTime) {
  for (const std::size_t count : {std::size_t{1000}, std::size_t{100'000}, std::size_t{2'600'001}}) {
    std::vector<Side> sides;
    for (int i = 0; i < 6; ++i) {
      sides.push_back({i % 2 == 0 ? first_.get() : second_.get(), make_buffer(context_, count * sizeof(int)), {}, {}});
    }
    for (int round = 0; round < 8; ++round) {
      for (std::size_t i = 0; i < sides.size(); ++i) {
        sides[i].from = numbers(count, round * 1000 + static_cast<int>(i));
        sides[i].to.assign(count, -1);
      }
      // Reads of the first ones while the last ones are written.
      for (Side& side : sides) side.write();
      for (Side& side : sides) side.read();
      check(clFinish(first_));
      check(clFinish(second_));
      for (const Side& side : sides) ASSERT_TRUE(side.to == side.from) << "round " << round;
    }
  }
}

TEST_F(TwoDevicesTest, ThreadsOfBothBlockAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      const Owned<cl_command_queue> queue = make_queue(context_, all_devices()[i % 2]);
      for (int round = 0; round < 30; ++round) {
        const std::size_t count = 1 + random() % 700'000;
        Side side{queue, make_buffer(context_, count * sizeof(int)), numbers(count, round * i), {}};
        side.to.assign(count, -1);
        side.write(random() % 2);
        side.read(CL_TRUE);
        ASSERT_TRUE(side.to == side.from) << "thread " << i << ", round " << round;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What waits for an event while the bytes come on another device's channel.
TEST_F(TwoDevicesTest, EventsOfBothEndWithTheirBytes) {
  constexpr std::size_t kCount = 1'000'000;
  Side one{first_, make_buffer(context_, kCount * sizeof(int)), numbers(kCount, 1), {}};
  Side other{second_, make_buffer(context_, kCount * sizeof(int)), numbers(kCount, 2), {}};
  one.write(CL_TRUE);
  other.write(CL_TRUE);
  for (int round = 0; round < 50; ++round) {
    one.to.assign(kCount, -1);
    other.to.assign(kCount, -1);
    Owned<cl_event> events[2];
    one.read(CL_FALSE, events[0].out());
    other.read(CL_FALSE, events[1].out());
    check(clWaitForEvents(1, events[1].pointer()));
    ASSERT_TRUE(other.to == other.from) << "round " << round;
    check(clWaitForEvents(1, events[0].pointer()));
    ASSERT_TRUE(one.to == one.from) << "round " << round;
  }
}

// One that fails gives its memory back while bytes of the other one come.
TEST_F(TwoDevicesTest, ReadThatFailsHoldsUpNoOther) {
  constexpr std::size_t kCount = 1'000'000;
  Side one{first_, make_buffer(context_, kCount * sizeof(int)), numbers(kCount, 1), {}};
  Side other{second_, make_buffer(context_, kCount * sizeof(int)), numbers(kCount, 2), {}};
  one.write(CL_TRUE);
  other.write(CL_TRUE);
  for (int round = 0; round < 10; ++round) {
    one.to.assign(kCount, -1);
    other.to.assign(kCount, -1);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> failing;
    check(clEnqueueReadBuffer(second_, other.buffer, CL_FALSE, 0, other.size(), other.to.data(), 1, gate.pointer(),
                              failing.out()));
    one.read();
    check(clSetUserEventStatus(gate, -1));
    check(clFinish(first_));
    ASSERT_TRUE(one.to == one.from) << "round " << round;
    EXPECT_NE(clWaitForEvents(1, failing.pointer()), CL_SUCCESS);
    EXPECT_EQ(other.to[0], -1);
    other.read(CL_TRUE);
    ASSERT_TRUE(other.to == other.from) << "round " << round;
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(1, {"POCL_DEVICES=pthread basic"}));
  return RUN_ALL_TESTS();
}
