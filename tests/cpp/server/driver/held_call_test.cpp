// A call of the driver that takes long delays only those who need its result.
#include <future>

#include "fakes/arguments/fake_argument_provider.h"
#include "server/driver/held_call.h"
#include "server/fixture.h"
#include "server/program/build_cache.h"
#include "server/transfer/staged_transfer.h"

namespace remotecl::testing {
namespace {

using server::Device;
using server::DeviceClock;

class HeldCallTest : public ::testing::Test {
 protected:
  template <class Function>
  std::future<void> meanwhile(Function function) {
    return std::async(std::launch::async, function);
  }

  server::NativeDriver driver_{"0"};
  Device& device_ = *driver_.device(0);
};

TEST_F(HeldCallTest, ASmallReadDoesNotWaitForAnotherThatAllocatesPinnedMemory) {
  device_.memory().stage_always();
  HeldCall call("clEnqueueMapBuffer");
  const auto first = meanwhile([this] { device_.memory().pinned().take(8); });
  call.await();
  EXPECT_NE(device_.memory().pinned().take(8), nullptr);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

TEST_F(HeldCallTest, AClockIsReadWhileAnotherReadWaitsForTheDevice) {
  DeviceClock clock(device_, false);
  HeldCall call("clWaitForEvents");
  const auto first = meanwhile([&clock] {
    cl_ulong time_ns = 0;
    EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  });
  call.await();
  cl_ulong time_ns = 0;
  EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  EXPECT_NE(time_ns, 0u);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

TEST_F(HeldCallTest, AClockIsReadWhileAnotherThreadMakesWhatThatNeeds) {
  cl_int error = CL_SUCCESS;
  ASSERT_NE(device_.context(error), nullptr);
  DeviceClock clock(device_, false);
  HeldCall call("clCreateBuffer");
  const auto first = meanwhile([&clock] {
    cl_ulong time_ns = 0;
    EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  });
  call.await();
  cl_ulong time_ns = 0;
  EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

TEST_F(HeldCallTest, ADeviceThatIsBeingClosedSaysSoAtOnce) {
  cl_int error = CL_SUCCESS;
  ASSERT_NE(device_.context(error), nullptr);
  HeldCall call("clReleaseContext");
  const auto closing = meanwhile([this] { device_.close(); });
  call.await();
  EXPECT_EQ(device_.context(error), nullptr);
  EXPECT_EQ(error, CL_INVALID_DEVICE);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

// Whoever passes the bytes on asks for the pieces.
TEST_F(HeldCallTest, PiecesOfAFailedWriteAreFoundWhileItWaitsForThem) {
  cl_int error = CL_SUCCESS;
  const cl_mem memory = clCreateBuffer(device_.context(error), CL_MEM_READ_WRITE, 64, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const auto turn = make_ref<server::DeviceTurns>()->join(1, 1, {}, {});
  const auto blocks = make_ref<server::BlockPool>(server::CompletionNotifier());
  const auto queue = make_ref<server::Queue>(1, device_, 0, blocks, turn);
  const auto write = make_ref<server::StagedWrite>(1, *queue, nullptr, 0, server::Region{{}, false, 0, 64}, memory);
  write->take(std::make_shared<std::byte[]>(64));
  HeldCall call("clWaitForEvents");
  const auto ending = meanwhile([&write] { write->ended(CL_DEVICE_NOT_AVAILABLE); });
  call.await();
  EXPECT_TRUE(write->written(64));
  EXPECT_TRUE(call.is_inside());
  call.release();
  ending.wait();
  clReleaseMemObject(memory);
}

class HeldBinaryTest : public HeldCallTest {
 protected:
  server::Native<cl_program> build(const char* source) {
    cl_int error = CL_SUCCESS;
    const cl_context context = device_.context(error);
    server::Native<cl_program> program(clCreateProgramWithSource(context, 1, &source, nullptr, &error));
    const cl_device_id device = device_.id();
    EXPECT_EQ(clBuildProgram(program.get(), 1, &device, "", nullptr, nullptr), CL_SUCCESS);
    return program;
  }
  void read(cl_program program) {
    std::vector<std::byte> binary;
    EXPECT_EQ(cache_.read_binary(program, binary), CL_SUCCESS);
    EXPECT_FALSE(binary.empty());
  }

  const server::Native<cl_program> program_ = build("kernel void f(global int* a) { *a = 1; }");
  server::BuildCache cache_;
};

TEST_F(HeldBinaryTest, ABinaryIsReadWhileTheDriverMakesThatOfAnotherProgram) {
  const auto other = build("kernel void f(global int* a) { *a = 2; }");
  HeldCall call("clGetProgramInfo");
  const auto first = meanwhile([this] { read(program_.get()); });
  call.await();
  read(other.get());
  EXPECT_TRUE(call.is_inside());
  call.release();
}

TEST_F(HeldBinaryTest, TheDriverMakesABinaryOfAProgramForOneThreadAtATime) {
  HeldCall call("clGetProgramInfo");
  const auto first = meanwhile([this] { read(program_.get()); });
  call.await();
  const auto second = meanwhile([this] { read(program_.get()); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

struct Log {
  ArgumentLog log;  // outlives the server
};

class HeldCallOfSessionTest : private Log, public ServerTest {
 protected:
  HeldCallOfSessionTest()
      : ServerTest({}, nullptr,
                   [this](const server::OwnPorts&) { return std::make_unique<FakeArgumentProvider>(log); }) {}

  WireClient client_{address()};
};

TEST_F(HeldCallOfSessionTest, ASessionGoesOnWhileItsSubDeviceIsReleased) {
  static constexpr std::int64_t kByCount[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END,
                                              0};
  static constexpr std::uint32_t kPart[] = {20};
  client_.send(CreateSubDevices{0, client_.id(), Array<std::int64_t>(kByCount, 4), Array<std::uint32_t>(kPart, 1)});
  if (client_.wait<SubDevices>()->error != CL_SUCCESS) GTEST_SKIP() << "the driver makes no parts of devices";
  client_.finish(client_.make_queue(0, kPart[0]));
  HeldCall call("clReleaseContext");
  client_.send(ReleaseSubDevice{kPart[0]});
  call.await();
  client_.ping();
  EXPECT_TRUE(call.is_inside());
  call.release();
}

TEST_F(HeldCallOfSessionTest, ASessionGoesOnWhileANetworkIsMade) {
  client_.finish(client_.make_queue());  // makes the context
  HeldCall call("clCreateBuffer");
  const ObjectId network = client_.id();
  client_.send(CreateNetwork{network, client_.id(), 0, 4, 4096});
  call.await();
  client_.ping();
  EXPECT_TRUE(call.is_inside());
  EXPECT_FALSE(client_.has<NetworkCreated>());
  call.release();
  const auto created = client_.wait<NetworkCreated>();
  EXPECT_EQ(created->error, CL_SUCCESS) << created->text;
  client_.send(CreateBuffer{network, CL_MEM_READ_WRITE, 64});
  expect_session_error(client_, "is in use");
}

// The network's id was free when the client named it.
TEST_F(HeldCallOfSessionTest, ABufferTakesTheIdOfANetworkThatIsBeingMade) {
  client_.finish(client_.make_queue());
  HeldCall call("clCreateBuffer");
  const ObjectId network = client_.id();
  client_.send(CreateNetwork{network, client_.id(), 0, 4, 4096});
  call.await();
  client_.send(CreateBuffer{network, CL_MEM_READ_WRITE, 64});
  client_.ping();
  call.release();
  expect_session_error(client_, "is in use");
}

}  // namespace
}  // namespace remotecl::testing
