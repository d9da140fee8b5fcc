// A network that is gone for a while, as an application sees it.
#include <chrono>
#include <cstdlib>
#include <future>
#include <numeric>
#include <thread>

#include "icd/fixture.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ReconnectTest : public ::testing::Test {
 protected:
  static FaultRelay& relay(std::size_t index) { return Environment::get().relay(index); }
  static cl_device_id device(std::size_t index) { return Environment::get().devices()[index]; }

  Owned<cl_context> context_ = make_context(Environment::get().devices());
  Owned<cl_command_queue> queue_ = make_queue(context_, device(0));
  Owned<cl_command_queue> other_ = make_queue(context_, device(1));
};

TEST_F(ReconnectTest, CallsTakeLongerAndCommandsGoOn) {
  const Owned<cl_program> program = build(context_, kSource);
  std::vector<int> words(1 << 20);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<int>(i);
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(words.size(), 0));
  for (int round = 0; round < 3; ++round) {
    relay(0).close();
    // As many commands as there is memory for are taken meanwhile.
    words[0] = round;
    check(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, words.size() * sizeof(int), words.data(), 0, nullptr,
                               nullptr));
    auto read = std::async(std::launch::async, [&] {
      std::vector<int> result(words.size());
      check(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, result.size() * sizeof(int), result.data(), 0, nullptr,
                                nullptr));
      return result;
    });
    EXPECT_EQ(read.wait_for(200ms), std::future_status::timeout);
    relay(0).open();
    EXPECT_TRUE(read.get() == words);
  }
}

TEST_F(ReconnectTest, RectanglesGoOn) {
  constexpr std::size_t kRow = 4096, kRows = 8192;
  const std::size_t region[3] = {kRow - 8, kRows, 1}, origin[3] = {0, 0, 0};
  const Owned<cl_mem> buffer = make_buffer(context_, kRow * kRows);
  for (int round = 0; round < 3; ++round) {
    std::vector<int> from(kRow * kRows / sizeof(int)), to(from.size(), -1);
    std::iota(from.begin(), from.end(), round * 1000);
    check(clEnqueueWriteBufferRect(queue_, buffer, CL_FALSE, origin, origin, region, 0, 0, kRow, 0, from.data(), 0,
                                   nullptr, nullptr));
    check(clEnqueueReadBufferRect(queue_, buffer, CL_FALSE, origin, origin, region, 0, 0, kRow, 0, to.data(), 0,
                                  nullptr, nullptr));
    relay(0).close();
    auto finished = std::async(std::launch::async, [&] { check(clFinish(queue_)); });
    std::this_thread::sleep_for(50ms);
    relay(0).open();
    finished.get();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool is_gap = i % (kRow / sizeof(int)) >= region[0] / sizeof(int);
      ASSERT_EQ(to[i], is_gap ? -1 : from[i]) << i << " in round " << round;
    }
  }
}

// Each of the first daemon's devices, at once: where they have channels of their own, all of them are lost.
TEST_F(ReconnectTest, BytesOfAllDevicesOfAServerGoOn) {
  constexpr std::size_t kCount = 1 << 20;
  const std::string server = text(clGetDeviceInfo, device(0), CL_DEVICE_REMOTECL_SERVER);
  std::vector<cl_device_id> devices;
  for (cl_device_id each : Environment::get().all_devices()) {
    if (text(clGetDeviceInfo, each, CL_DEVICE_REMOTECL_SERVER) == server) devices.push_back(each);
  }
  const Owned<cl_context> context = make_context(devices);
  std::vector<Owned<cl_command_queue>> queues;
  std::vector<Owned<cl_mem>> buffers;
  for (cl_device_id each : devices) {
    queues.push_back(make_queue(context, each));
    buffers.push_back(make_buffer(context, kCount * sizeof(int)));
  }
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<int>> from(devices.size(), std::vector<int>(kCount)), to = from;
    const auto bytes = kCount * sizeof(int);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      std::iota(from[i].begin(), from[i].end(), round * 1000 + static_cast<int>(i));
      check(clEnqueueWriteBuffer(queues[i], buffers[i], CL_FALSE, 0, bytes, from[i].data(), 0, nullptr, nullptr));
      check(clEnqueueReadBuffer(queues[i], buffers[i], CL_FALSE, 0, bytes, to[i].data(), 0, nullptr, nullptr));
    }
    relay(0).close();
    auto finished = std::async(std::launch::async, [&] {
      for (const auto& queue : queues) check(clFinish(queue));
    });
    std::this_thread::sleep_for(50ms);
    relay(0).open();
    finished.get();
    EXPECT_TRUE(to == from) << "round " << round;
  }
}

TEST_F(ReconnectTest, LinksBetweenServersGoOn) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(1 << 20, 1));
  const cl_mem memory = buffer;
  check(clEnqueueMigrateMemObjects(queue_, 1, &memory, 0, 0, nullptr, nullptr));
  check(clEnqueueMigrateMemObjects(other_, 1, &memory, 0, 0, nullptr, nullptr));
  check(clFinish(other_));
  relay(0).close();
  relay(1).close();
  const int seven = 7;
  check(clEnqueueFillBuffer(queue_, buffer, &seven, sizeof seven, 0, sizeof(int) << 20, 0, nullptr, nullptr));
  Owned<cl_event> moved;
  check(clEnqueueMigrateMemObjects(other_, 1, &memory, 0, 0, nullptr, moved.out()));
  std::this_thread::sleep_for(100ms);
  relay(0).open();
  relay(1).open();
  std::vector<int> result(1 << 20);
  check(
      clEnqueueReadBuffer(other_, buffer, CL_TRUE, 0, result.size() * sizeof(int), result.data(), 0, nullptr, nullptr));
  EXPECT_TRUE(result == std::vector<int>(1 << 20, 7));
}

// The last ones: these servers are lost.
TEST_F(ReconnectTest, ZServerThatWasRestartedIsNotTakenForTheFormerOne) {
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(64, 1));
  check(clFinish(queue_));
  Daemon another;
  relay(0).close();
  relay(0).lead_to(another.address());
  relay(0).open();
  const auto begin = Clock::now();
  int word = 0;
  EXPECT_NE(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, sizeof word, &word, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_LT(Clock::now() - begin, 5s) << "the window need not pass";
  check(clFinish(other_));
}

TEST(ReconnectWindowTest, WhoStaysAwayIsLostAfterIt) {
  const cl_device_id device = Environment::get().devices()[1];
  const Owned<cl_context> context = make_context({device});
  const Owned<cl_command_queue> queue = make_queue(context, device);
  check(clFinish(queue));
  const auto begin = Clock::now();
  Environment::get().relay(1).close();
  EXPECT_NE(clFinish(queue), CL_SUCCESS);
  const auto time = Clock::now() - begin;
  EXPECT_GT(time, 2500ms);
  EXPECT_LT(time, 10s);
  EXPECT_NE(clFinish(queue), CL_SUCCESS) << "and stays lost";
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  if (std::getenv("SHOW") == nullptr) ::setenv("REMOTECL_LOG", "off", 1);
  std::vector<std::string> settings;
  if (std::getenv("REMOTECL_TEST_SHARED_MEMORY") == nullptr) {  // it would pass the network by
    ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
    settings.emplace_back("REMOTECL_SHARED_MEMORY=off");
  }
  ::setenv("REMOTECL_RECONNECT", "3", 1);
  ::testing::InitGoogleTest(&argc, argv);
  const remotecl::testing::FaultRelay::Faults faults{1, std::chrono::microseconds(100)};
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(2, faults, settings));
  return RUN_ALL_TESTS();
}
