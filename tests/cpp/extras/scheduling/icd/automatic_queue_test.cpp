// Queues on the automatic device, over three servers.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "extras/scheduling/icd/automatic_device_fixture.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

using nlohmann::json;

class AutomaticQueueTest : public AutomaticDeviceTest {
 protected:
  using Counts = std::map<std::string, std::uint64_t>;  // by server
  // How many kernels this process has placed.
  static Counts placed() {
    Counts counts;
    const json stats = json::parse(statistics_json());
    for (const json& each : stats["placements"]) counts[each["server"]] += each["kernels"].get<std::uint64_t>();
    return counts;
  }
  // How many of them the servers have counted.
  static Counts told() {
    char* text = library_function<decltype(remotecl_status_json)>("remotecl_status_json")();
    const json servers = json::parse(text);
    library_function<decltype(remotecl_free)>("remotecl_free")(text);
    Counts counts;
    for (const json& server : servers) {
      for (const json& device : server["status"]["devices"]) {
        counts[server["address"]] += device["placed"].get<std::uint64_t>();
      }
    }
    return counts;
  }
  // The kernel that adds the number to each of the buffer's.
  Owned<cl_kernel> adding(int number, const Owned<cl_mem>& buffer) const {
    Owned<cl_kernel> add = make_kernel(program_, "add");
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, number));
    return add;
  }
};

TEST_F(AutomaticQueueTest, EventsBelongToTheQueueThatTheApplicationKnows) {
  const Owned<cl_command_queue> queue = make_queue(context_, device_, CL_QUEUE_PROFILING_ENABLE);
  const Owned<cl_mem> buffer = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = adding(1, buffer);
  cl_ulong before = 0;
  for (int i = 0; i < 4; ++i) {
    Owned<cl_event> event;
    check(run(queue, add, kCount, {}, event.out()));
    EXPECT_EQ(value<cl_command_queue>(clGetEventInfo, event.get(), CL_EVENT_COMMAND_QUEUE), queue.get());
    check(clWaitForEvents(1, event.pointer()));
    // On different members, and in one clock.
    const auto start = value<cl_ulong>(clGetEventProfilingInfo, event.get(), CL_PROFILING_COMMAND_START);
    EXPECT_GT(start, before);
    before = value<cl_ulong>(clGetEventProfilingInfo, event.get(), CL_PROFILING_COMMAND_END);
    EXPECT_LE(start, before);
  }
}

TEST_F(AutomaticQueueTest, KernelsRunOnAllMembersAndSayWhy) {
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> buffer = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = adding(1, buffer);
  std::set<std::string> servers;
  for (int i = 0; i < 6; ++i) {
    Owned<cl_event> event;
    check(run(queue, add, kCount, {}, event.out()));
    const json why = explain(event);
    ASSERT_TRUE(why.is_object());
    EXPECT_EQ(why["kernel"], "add");
    EXPECT_EQ(why["policy"], "round-robin");
    EXPECT_NE(why["text"].get<std::string>().find("round-robin"), std::string::npos);
    servers.insert(why["device"]["server"].get<std::string>());
  }
  EXPECT_EQ(servers.size(), 3u);
  std::vector<int> expected = numbers();
  for (int& number : expected) number += 6;
  EXPECT_EQ(read<int>(queue, buffer, kCount), expected);
}

TEST_F(AutomaticQueueTest, AnInOrderQueueKeepsItsOrderWithoutEvents) {
  std::mt19937_64 random(20261123);
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_kernel> add = make_kernel(program_, "add"), twice = make_kernel(program_, "twice");
  std::vector<Owned<cl_mem>> buffers;
  std::vector<std::vector<int>> model;
  for (int i = 0; i < 4; ++i) {
    model.push_back(numbers(i));
    buffers.push_back(make_buffer(context_, model.back()));
  }
  for (int step = 0; step < 400; ++step) {
    const std::size_t one = random() % 4, other = (one + 1 + random() % 3) % 4;
    const int number = static_cast<int>(random() % 1000);
    switch (random() % 5) {
      case 0:
        check(set_arg(add, 0, buffers[one]));
        check(set_arg(add, 1, number));
        check(run(queue, add, kCount));
        for (int& value : model[one]) value += number;
        break;
      case 1:
        check(set_arg(twice, 0, buffers[one]));
        check(set_arg(twice, 1, buffers[other]));
        check(run(queue, twice, kCount));
        std::transform(model[one].begin(), model[one].end(), model[other].begin(),
                       [](int value) { return static_cast<int>(2u * static_cast<unsigned>(value)); });
        break;
      case 2:
        check(clEnqueueCopyBuffer(queue, buffers[one], buffers[other], 0, 0, kCount / 2 * sizeof(int), 0, nullptr,
                                  nullptr));
        std::copy_n(model[one].begin(), kCount / 2, model[other].begin());
        break;
      case 3:
        check(clEnqueueFillBuffer(queue, buffers[one], &number, sizeof number, 100 * sizeof(int), 200 * sizeof(int), 0,
                                  nullptr, nullptr));
        std::fill_n(model[one].begin() + 100, 200, number);
        break;
      default:
        ASSERT_EQ(read<int>(queue, buffers[one], kCount), model[one]) << "step " << step;
    }
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read<int>(queue, buffers[i], kCount), model[i]);
}

// Reads of bytes that arrive late, and the next command, which runs elsewhere.
TEST_F(AutomaticQueueTest, ACommandAfterAReadEndsAfterIt) {
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const std::size_t count = 2'000'000;
  const Owned<cl_mem> large = make_buffer(context_, std::vector<int>(count, 7));
  const Owned<cl_mem> small = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = make_kernel(program_, "add");
  check(set_arg(add, 1, 1));
  for (int i = 0; i < 6; ++i) {
    check(set_arg(add, 0, large));
    check(run(queue, add, count));
    std::vector<int> result(count);
    check(clEnqueueReadBuffer(queue, large, CL_FALSE, 0, count * sizeof(int), result.data(), 0, nullptr, nullptr));
    Owned<cl_event> last;
    check(set_arg(add, 0, small));
    check(run(queue, add, kCount, {}, last.out()));
    check(clWaitForEvents(1, last.pointer()));
    EXPECT_EQ(result, std::vector<int>(count, 8 + i));
  }
}

TEST_F(AutomaticQueueTest, ABarrierOrdersAllMembers) {
  if (Environment::get().is_pocl() && Environment::get().all_devices().size() < 2) GTEST_SKIP();
  const Owned<cl_command_queue> queue = make_queue(context_, device_, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Owned<cl_kernel> add = make_kernel(program_, "add"), twice = make_kernel(program_, "twice");
  std::vector<Owned<cl_mem>> from, to;
  for (int i = 0; i < 6; ++i) {
    from.push_back(make_buffer(context_, numbers()));
    to.push_back(make_buffer(context_, kCount * sizeof(int)));
  }
  for (int round = 1; round <= 5; ++round) {
    for (int i = 0; i < 6; ++i) {
      check(set_arg(add, 0, from[i]));
      check(set_arg(add, 1, i));
      check(run(queue, add, kCount));
    }
    check(clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr));
    for (int i = 0; i < 6; ++i) {
      check(set_arg(twice, 0, from[i]));
      check(set_arg(twice, 1, to[(i + 1) % 6]));
      check(run(queue, twice, kCount));
    }
    Owned<cl_event> all;
    check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, all.out()));
    check(clWaitForEvents(1, all.pointer()));
    for (int i = 0; i < 6; ++i) {
      std::vector<int> expected = numbers();
      for (int& number : expected) number = 2 * (number + round * i);
      ASSERT_EQ(read<int>(queue, to[(i + 1) % 6], kCount), expected);
    }
  }
}

TEST_F(AutomaticQueueTest, MapsShowTheNewestBytesAndWritingThemCounts) {
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> buffer = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = adding(10, buffer);
  for (int round = 0; round < 4; ++round) {
    check(run(queue, add, kCount));
    cl_int error = CL_SUCCESS;
    int* const mapped = static_cast<int*>(clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                                             kCount * sizeof(int), 0, nullptr, nullptr, &error));
    check(error);
    EXPECT_EQ(mapped[5], 5 + 11 * round + 10);
    for (std::size_t i = 0; i < kCount; ++i) ++mapped[i];
    check(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr));
  }
  std::vector<int> expected = numbers();
  for (int& number : expected) number += 44;
  EXPECT_EQ(read<int>(queue, buffer, kCount), expected);
}

TEST_F(AutomaticQueueTest, ADividedKernelTakesItsPlaceInTheOrder) {
  const auto split = library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> data = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = adding(1, data);
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  for (int i = 0; i < 10; ++i) {
    check(run(queue, add, kCount));
    check(split(1, queue.pointer(), add, 0, 1, nullptr, &kCount, nullptr, 1, &slice, 0, nullptr, nullptr));
  }
  EXPECT_EQ(read<int>(queue, data, kCount), numbers(20));
}

TEST_F(AutomaticQueueTest, ARefusedDivisionLeavesTheOrderAsItIs) {
  const auto split = library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_kernel> add = make_kernel(program_, "add");
  const Owned<cl_mem> first = make_buffer(context_, numbers()), last = make_buffer(context_, numbers());
  check(set_arg(add, 1, 1));
  // The kernels before go to each member in turn.
  for (int member = 0; member < 3; ++member) {
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> before, after;
    check(set_arg(add, 0, first));
    check(run(queue, add, kCount, {gate}, before.out()));
    const remotecl_slice no_argument{7, 0, sizeof(int), 0, 0};
    EXPECT_EQ(split(1, queue.pointer(), add, 0, 1, nullptr, &kCount, nullptr, 1, &no_argument, 0, nullptr, nullptr),
              CL_INVALID_ARG_INDEX);
    check(set_arg(add, 0, last));
    check(run(queue, add, kCount, {}, after.out()));
    check(clFlush(queue));
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      clSetUserEventStatus(gate, CL_COMPLETE);
    });
    check(clWaitForEvents(1, after.pointer()));
    EXPECT_EQ(status(before), CL_COMPLETE);
    opener.join();
  }
}

TEST_F(AutomaticQueueTest, ServersAreToldOfEachKernelThatIsPlacedAndOfNothingElse) {
  const auto split = library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> data = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = adding(1, data);
  for (int i = 0; i < 10; ++i) check(run(queue, add, kCount));
  const int zero = 0;
  check(clEnqueueFillBuffer(queue, data, &zero, sizeof zero, 0, sizeof zero, 0, nullptr, nullptr));
  // The program divides this one itself.
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  check(split(1, queue.pointer(), add, 0, 1, nullptr, &kCount, nullptr, 1, &slice, 0, nullptr, nullptr));
  check(clFinish(queue));
  const Counts counts = placed();
  ASSERT_EQ(counts.size(), 3u);
  for (const auto& [server, count] : counts) EXPECT_GT(count, 0u) << server;
  EXPECT_EQ(told(), counts);
}

// The last test, because a member is gone afterwards.
TEST_F(AutomaticQueueTest, ZzALostMemberGetsNoMoreTasks) {
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> buffer = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = adding(1, buffer);
  for (int i = 0; i < 6; ++i) check(run(queue, add, kCount));
  // What only the lost server holds is lost, so it must not be the only one.
  EXPECT_EQ(read<int>(queue, buffer, kCount)[0], 6);
  const std::string address = Environment::get().daemon(1).address();
  Environment::get().daemon(1).kill();
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, device_, CL_DEVICE_AVAILABLE), cl_bool{CL_TRUE});
  clFinish(queue);  // reports the loss, or has noticed nothing yet
  const Owned<cl_mem> fresh = make_buffer(context_, numbers());
  check(set_arg(add, 0, fresh));
  int good = 0;
  for (int i = 0; i < 200 && good < 6; ++i) {
    Owned<cl_event> event;
    if (run(queue, add, kCount, {}, event.out()) != CL_SUCCESS) continue;
    if (clWaitForEvents(1, event.pointer()) != CL_SUCCESS) continue;
    if (explain(event)["device"]["server"] != address) ++good;
  }
  EXPECT_EQ(good, 6);
  clFinish(queue);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
}

}  // namespace
}  // namespace remotecl::testing
