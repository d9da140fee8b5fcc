// Servers that are added, closed and restarted while a program uses others. Each test starts those that it changes.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kCount = 64u << 10;  // ints

class ServerChangesTest : public ::testing::Test {
 protected:
  // The error, empty without one.
  static std::string connect(const std::string& server) {
    return call(library_function<decltype(remotecl_connect)>("remotecl_connect"), server);
  }
  static std::string disconnect(const std::string& server) {
    return call(library_function<decltype(remotecl_disconnect)>("remotecl_disconnect"), server);
  }
  // All that are listed.
  static std::vector<cl_device_id> devices() {
    cl_uint count = 0;
    check(clGetDeviceIDs(Environment::get().remote_platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &count));
    std::vector<cl_device_id> devices(count);
    check(clGetDeviceIDs(Environment::get().remote_platform(), CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr));
    return devices;
  }
  static std::vector<cl_device_id> devices_of(const std::string& server) {
    std::vector<cl_device_id> found = devices();
    std::erase_if(
        found, [&](cl_device_id device) { return text(clGetDeviceInfo, device, CL_DEVICE_REMOTECL_SERVER) != server; });
    return found;
  }
  static bool is_available(cl_device_id device) {
    return value<cl_bool>(clGetDeviceInfo, device, CL_DEVICE_AVAILABLE) != CL_FALSE;
  }
  // Of this process: "fd" or "task".
  static std::ptrdiff_t count_of(const char* kind) {
    return std::distance(std::filesystem::directory_iterator(std::string("/proc/self/") + kind), {});
  }
  // Sessions that are lost let go of what they hold a moment later.
  static std::ptrdiff_t count_at_most(const char* kind, std::ptrdiff_t wanted) {
    for (int i = 0; count_of(kind) > wanted && i < 1000; ++i) ::usleep(10'000);
    return count_of(kind);
  }
  static cl_device_id lasting() { return Environment::get().devices()[0]; }

  // Kernels on both devices in turns, on data that moves between them.
  static void compute_on_both(cl_device_id one, cl_device_id other) {
    const Owned<cl_context> context = make_context({one, other});
    const Owned<cl_command_queue> queues[] = {make_queue(context, one), make_queue(context, other)};
    const Owned<cl_program> program = build(context, kSource);
    const Owned<cl_kernel> add = make_kernel(program, "add");
    const Owned<cl_mem> buffer = make_buffer(context, std::vector<int>(kCount, 5));
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1));
    for (int round = 0; round < 4; ++round) {
      check(run(queues[round % 2], add, kCount));
      check(clFinish(queues[round % 2]));
    }
    EXPECT_EQ(read<int>(queues[0], buffer, kCount), std::vector<int>(kCount, 9));
  }

 private:
  static std::string call(int (*function)(const char*, char**), const std::string& server) {
    char* error = nullptr;
    const int result = function(server.c_str(), &error);
    const std::string text = error == nullptr ? "" : error;
    library_function<decltype(remotecl_free)>("remotecl_free")(error);
    EXPECT_EQ(result == 0, text.empty()) << text;
    return text;
  }
};

TEST_F(ServerChangesTest, OneIsAddedAfterTheFirstUse) {
  compute_on_both(lasting(), lasting());
  Daemon daemon;
  const std::size_t before = devices().size();
  ASSERT_EQ(connect(daemon.address()), "");
  const std::vector<cl_device_id> added = devices_of(daemon.address());
  ASSERT_FALSE(added.empty());
  EXPECT_EQ(devices().size(), before + added.size());
  EXPECT_EQ(devices().back(), added.back());
  ASSERT_EQ(connect(daemon.address()), "");
  EXPECT_EQ(devices_of(daemon.address()), added);
  compute_on_both(lasting(), added[0]);
  EXPECT_EQ(disconnect(daemon.address()), "");
}

TEST_F(ServerChangesTest, OneIsClosed) {
  Daemon daemon;
  ASSERT_EQ(connect(daemon.address()), "");
  const std::size_t before = devices().size(), of_daemon = devices_of(daemon.address()).size();
  const cl_device_id device = devices_of(daemon.address()).at(0);
  const Owned<cl_context> context = make_context({lasting(), device});
  const Owned<cl_command_queue> queue = make_queue(context, device), other = make_queue(context, lasting());
  const Owned<cl_mem> buffer = make_buffer(context, std::vector<int>(kCount, 3));
  EXPECT_EQ(read<int>(queue, buffer, kCount), std::vector<int>(kCount, 3));
  const Owned<cl_event> gate = make_user_event(context);
  Owned<cl_event> held;
  check(clEnqueueMarkerWithWaitList(queue, 1, gate.pointer(), held.out()));
  ASSERT_EQ(disconnect(daemon.address()), "");
  EXPECT_EQ(clWaitForEvents(1, held.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_FALSE(is_available(device));
  EXPECT_EQ(devices().size(), before - of_daemon);
  EXPECT_EQ(clFinish(queue), CL_DEVICE_NOT_AVAILABLE);
  cl_int error = CL_SUCCESS;
  clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  EXPECT_EQ(error, CL_DEVICE_NOT_AVAILABLE);
  // What other servers of the context have goes on.
  const int value = 4;
  check(clEnqueueFillBuffer(other, buffer, &value, sizeof value, 0, kCount * sizeof value, 0, nullptr, nullptr));
  EXPECT_EQ(read<int>(other, buffer, kCount), std::vector<int>(kCount, value));
  EXPECT_NE(disconnect(daemon.address()), "");
  EXPECT_NE(disconnect("one,two"), "");
  check(clSetUserEventStatus(gate, CL_COMPLETE));  // otherwise it lives on, as the specification says
}

TEST_F(ServerChangesTest, OneThatIsRestartedIsANewDeviceUnderTheOldName) {
  auto daemon = std::make_unique<Daemon>();
  const std::string address = daemon->address();
  ASSERT_EQ(connect(address), "");
  const cl_device_id old = devices_of(address).at(0);
  compute_on_both(lasting(), old);
  daemon->kill();
  daemon = std::make_unique<Daemon>(std::vector<std::string>{}, std::vector<std::string>{}, address);
  ASSERT_EQ(daemon->address(), address);
  // The loss may not have been noticed.
  const Owned<cl_context> context = make_context({lasting()});
  for (int i = 0; is_available(old) && i < 1000; ++i) ::usleep(10'000);
  ASSERT_FALSE(is_available(old));
  ASSERT_EQ(connect(address), "");
  const std::vector<cl_device_id> now = devices_of(address);
  ASSERT_FALSE(now.empty());
  EXPECT_EQ(std::count(now.begin(), now.end(), old), 0);
  compute_on_both(lasting(), now[0]);
  EXPECT_FALSE(is_available(old));
  EXPECT_EQ(disconnect(address), "");
}

// More often than a process has room for servers, with objects of former ones that are still there.
TEST_F(ServerChangesTest, TheyComeAndGoForDays) {
  Daemon daemons[2];
  std::vector<Owned<cl_context>> contexts;
  std::vector<Owned<cl_mem>> buffers;
  for (int i = 0; i < 70; ++i) {
    const std::string& address = daemons[i % 2].address();
    ASSERT_EQ(connect(address), "") << i;
    const cl_device_id device = devices_of(address).at(0);
    contexts.push_back(make_context({device, lasting()}));
    buffers.push_back(make_buffer(contexts.back(), std::vector<int>(16, i)));
    EXPECT_EQ(read<int>(make_queue(contexts.back(), device), buffers.back(), 16), std::vector<int>(16, i));
    if (i % 10 == 0) compute_on_both(lasting(), device);
    ASSERT_EQ(disconnect(address), "") << i;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(read<int>(make_queue(contexts[i], lasting()), buffers[i], 16), std::vector<int>(16, static_cast<int>(i)));
  }
}

// However they are lost, and though objects of theirs live on.
TEST_F(ServerChangesTest, LostOnesKeepNeitherDescriptorsNorThreads) {
  struct Remains {
    cl_device_id device;
    Owned<cl_context> context;
    Owned<cl_command_queue> queue;
    Owned<cl_mem> buffer;
    Owned<cl_event> event;
  };
  // Some are the process's own, made when they are first needed.
  compute_on_both(lasting(), lasting());
  const std::ptrdiff_t descriptors = count_of("fd") + 4, threads = count_of("task") + 4;
  std::vector<Remains> lost;
  for (int i = 0; i < 12; ++i) {
    Daemon daemon;
    ASSERT_EQ(connect(daemon.address()), "") << i;
    const cl_device_id device = devices_of(daemon.address()).at(0);
    compute_on_both(lasting(), device);
    Remains& left = lost.emplace_back(device, make_context({device, lasting()}));
    left.queue = make_queue(left.context, device);
    left.buffer = make_buffer(left.context, std::vector<int>(kCount, i));
    EXPECT_EQ(read<int>(left.queue, left.buffer, kCount), std::vector<int>(kCount, i));
    check(clEnqueueMarkerWithWaitList(left.queue, 0, nullptr, left.event.out()));
    if (i % 2 == 0) {
      ASSERT_EQ(disconnect(daemon.address()), "") << i;
    } else {
      daemon.kill();
    }
    for (int tries = 0; is_available(device) && tries < 1000; ++tries) ::usleep(10'000);
    ASSERT_FALSE(is_available(device));
  }
  EXPECT_LE(count_at_most("fd", descriptors), descriptors);
  EXPECT_LE(count_at_most("task", threads), threads);
  const int value = 0;
  for (Remains& left : lost) {
    EXPECT_EQ(clFinish(left.queue), CL_DEVICE_NOT_AVAILABLE);
    EXPECT_EQ(clEnqueueFillBuffer(left.queue, left.buffer, &value, sizeof value, 0, sizeof value, 0, nullptr, nullptr),
              CL_DEVICE_NOT_AVAILABLE);
    cl_int status = CL_QUEUED;
    check(clGetEventInfo(left.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr));
    EXPECT_LE(status, CL_COMPLETE);
    compute_on_both(lasting(), lasting());
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 1);
  ::setenv("REMOTECL_RECONNECT", "0", 1);  // or a killed server would be waited for
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(1));
  return RUN_ALL_TESTS();
}
