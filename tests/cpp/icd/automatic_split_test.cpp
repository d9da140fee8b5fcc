// Kernels of the automatic device that divide themselves, over two daemons of equal speed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "icd/automatic_device_fixture.h"
#include "icd/fake_driver.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

// The fake driver knows the kernel by its name; the text is what is proven.
constexpr char kProvable[] = "kernel void add_mv(global int* to, int value) { to[get_global_id(0)] += value; }";
// Other text, of which nothing is known from other tests.
constexpr char kShort[] = "kernel void add_mv(global int* to, int value) { to[get_global_id(0)] += value; } // short";
constexpr char kUnprovable[] =
    "kernel void add_mv(global int* to, int value) { atomic_add(to + get_global_id(0), value); }";

class AutomaticSplitTest : public FakeDriverTest {
 protected:
  static constexpr std::size_t kItems = 1 << 16;

  // A kernel with so many items runs for 40 ms.
  AutomaticSplitTest() { command_driver("item-ns=600"); }

  Owned<cl_kernel> add(const char* source, int value) {
    Owned<cl_kernel> kernel = make_kernel(build(context_, source), "add_mv");
    set_arguments(kernel, data_, value);
    return kernel;
  }
  nlohmann::json run_and_explain(cl_kernel kernel, std::size_t items = kItems) {
    Owned<cl_event> event;
    check(run(queue_, kernel, items, {}, event.out()));
    check(clWaitForEvents(1, event.pointer()));
    EXPECT_EQ(status(event), CL_COMPLETE);
    return explain(event);
  }
  // Runs it until it is divided, and at most so often. Returns how often.
  int runs_until_divided(cl_kernel kernel, int runs_max, std::size_t items = kItems) {
    for (int run = 1; run <= runs_max; ++run) {
      if (!run_and_explain(kernel, items)["parts"].empty()) return run;
    }
    return 0;
  }
  static Owned<cl_kernel> clone_of(cl_kernel kernel) {
    cl_int error = CL_SUCCESS;
    Owned<cl_kernel> clone(clCloneKernel(kernel, &error));
    check(error);
    return clone;
  }
  using Counts = std::map<std::string, std::uint64_t>;  // by server
  // How many kernels this process has placed.
  static Counts placed() {
    Counts counts;
    const auto stats = nlohmann::json::parse(statistics_json());
    for (const auto& each : stats["placements"]) counts[each["server"]] += each["kernels"].get<std::uint64_t>();
    return counts;
  }
  // How many of them were reported to the servers.
  static Counts told() {
    char* text = library_function<decltype(remotecl_status_json)>("remotecl_status_json")();
    const auto servers = nlohmann::json::parse(text);
    library_function<decltype(remotecl_free)>("remotecl_free")(text);
    Counts counts;
    for (const auto& server : servers) {
      for (const auto& device : server["status"]["devices"]) {
        counts[server["address"]] += device["placed"].get<std::uint64_t>();
      }
    }
    return counts;
  }
  std::vector<int> data() { return read<int>(queue_, data_, kItems); }
  static std::vector<int> all(int value) { return std::vector<int>(kItems, value); }

  const decltype(&remotecl_set_kernel_slices) set_slices_ =
      library_function<decltype(remotecl_set_kernel_slices)>("remotecl_set_kernel_slices");
  const cl_device_id device_ = automatic_device("earliest-finish");
  const Owned<cl_context> context_ = make_context({device_});
  const Owned<cl_command_queue> queue_ = make_queue(context_, device_, CL_QUEUE_PROFILING_ENABLE);
  const Owned<cl_mem> data_ = make_buffer(context_, all(0));
};

// With REMOTECL_AUTO_SPLIT=off.
class AutomaticSplitOffTest : public AutomaticSplitTest {};

TEST_F(AutomaticSplitTest, ALongKernelIsDividedOnceBothDevicesHaveRunItWhole) {
  const Owned<cl_kernel> kernel = add(kProvable, 1);
  int runs = runs_until_divided(kernel, 20);
  ASSERT_GT(runs, 2);
  Owned<cl_event> event;
  const auto time = [&](cl_profiling_info name) { return value<cl_ulong>(clGetEventProfilingInfo, event.get(), name); };
  auto elapsed = std::chrono::steady_clock::duration::max();
  cl_ulong runtime = ~cl_ulong{0};
  nlohmann::json why;            // of the fastest
  for (int i = 0; i < 5; ++i) {  // other processes may delay some
    const auto begin = std::chrono::steady_clock::now();
    check(run(queue_, kernel, kItems, {}, event.out()));
    check(clWaitForEvents(1, event.pointer()));
    const auto took = std::chrono::steady_clock::now() - begin;
    if (took < elapsed) why = explain(event);
    elapsed = std::min(elapsed, took);
    EXPECT_EQ(data(), all(++runs));
    runtime = std::min(runtime, time(CL_PROFILING_COMMAND_END) - time(CL_PROFILING_COMMAND_START));
  }
  EXPECT_LT(elapsed, std::chrono::milliseconds(35));
  EXPECT_GT(runtime, 15'000'000u);
  EXPECT_LT(runtime, 35'000'000u);

  ASSERT_EQ(why["parts"].size(), 2u);
  EXPECT_NE(why["parts"][0]["device"]["server"], why["parts"][1]["device"]["server"]);
  EXPECT_NEAR(why["parts"][0]["share"].get<double>(), 0.5, 0.15);
  EXPECT_NEAR(why["parts"][0]["share"].get<double>() + why["parts"][1]["share"].get<double>(), 1, 1e-9);
  EXPECT_EQ(why["text"].get<std::string>().find("divided: "), 0u);
  EXPECT_EQ(why["kernel"], "add_mv");
  EXPECT_EQ(value<cl_command_queue>(clGetEventInfo, event.get(), CL_EVENT_COMMAND_QUEUE), queue_.get());
  EXPECT_EQ(value<cl_command_type>(clGetEventInfo, event.get(), CL_EVENT_COMMAND_TYPE), CL_COMMAND_NDRANGE_KERNEL);
}

TEST_F(AutomaticSplitTest, ServersAreToldOfEachKernelThatIsPlacedAndOfNothingElse) {
  const Owned<cl_kernel> kernel = add(kProvable, 1), small = add(kShort, 0);
  ASSERT_NE(runs_until_divided(kernel, 20), 0);
  for (int i = 0; i < 10; ++i) check(run(queue_, small, 1));
  const int zero = 0;
  check(clEnqueueFillBuffer(queue_, data_, &zero, sizeof zero, 0, sizeof zero, 0, nullptr, nullptr));
  // The program divides this one itself.
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  const auto split = library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");
  check(split(1, queue_.pointer(), kernel, 0, 1, nullptr, &kItems, nullptr, 1, &slice, 0, nullptr, nullptr));
  check(clFinish(queue_));
  const Counts counts = placed();
  ASSERT_EQ(counts.size(), 2u);
  for (const auto& [server, count] : counts) EXPECT_GT(count, 0u) << server;
  EXPECT_EQ(told(), counts);
}

TEST_F(AutomaticSplitTest, FinishCoversTheEventOfADividedKernel) {
  const Owned<cl_kernel> kernel = add(kProvable, 1);
  ASSERT_NE(runs_until_divided(kernel, 20), 0);
  for (int i = 0; i < 20; ++i) {
    Owned<cl_event> event;
    check(run(queue_, kernel, kItems, {}, event.out()));
    check(clFinish(queue_));
    EXPECT_EQ(status(event), CL_COMPLETE);
    cl_ulong end = 0;
    EXPECT_EQ(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr), CL_SUCCESS);
  }
}

TEST_F(AutomaticSplitTest, WhatTheSourceDoesNotProveRunsWhole) {
  EXPECT_EQ(runs_until_divided(add(kUnprovable, 1), 12), 0);
  EXPECT_EQ(data(), all(12));
}

TEST_F(AutomaticSplitTest, WhatIsDeclaredIsDividedWithoutAProof) {
  const Owned<cl_kernel> kernel = add(kUnprovable, 1);
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  check(set_slices_(kernel, 0, 1, &slice));
  int runs = runs_until_divided(kernel, 20);
  ASSERT_GT(runs, 0);
  EXPECT_EQ(data(), all(runs));
  const Owned<cl_kernel> clone = clone_of(kernel);
  EXPECT_GT(runs_until_divided(clone, 1), 0);
  EXPECT_EQ(data(), all(++runs));

  check(set_slices_(kernel, 0, 0, nullptr));
  EXPECT_EQ(runs_until_divided(kernel, 3), 0);
  check(set_slices_(kernel, 1, 1, &slice));  // the range has no such dimension
  EXPECT_EQ(runs_until_divided(kernel, 3), 0);
  const remotecl_slice with_neighbours{0, 0, sizeof(int), 1, 0};  // of a buffer that is written
  check(set_slices_(kernel, 0, 1, &with_neighbours));
  EXPECT_EQ(runs_until_divided(kernel, 3), 0);
  EXPECT_EQ(data(), all(runs + 9));
}

TEST_F(AutomaticSplitTest, WhatCannotBeDeclaredIsRefusedAndChangesNothing) {
  const Owned<cl_kernel> kernel = add(kUnprovable, 1);
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0}, none{2, 0, sizeof(int), 0, 0}, empty{0, 0, 0, 0, 0};
  const remotecl_slice twice[] = {slice, slice};
  check(set_slices_(kernel, 0, 1, &slice));
  EXPECT_EQ(set_slices_(kernel, 3, 1, &slice), CL_INVALID_VALUE);
  EXPECT_EQ(set_slices_(kernel, 0, 1, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(set_slices_(kernel, 0, 1, &empty), CL_INVALID_VALUE);
  EXPECT_EQ(set_slices_(kernel, 0, 1, &none), CL_INVALID_ARG_INDEX);
  EXPECT_EQ(set_slices_(kernel, 0, 2, twice), CL_INVALID_ARG_INDEX);
  EXPECT_EQ(set_slices_(nullptr, 0, 1, &slice), CL_INVALID_KERNEL);
  EXPECT_GT(runs_until_divided(kernel, 20), 0);
}

TEST_F(AutomaticSplitTest, AShortKernelRunsWhole) {
  command_driver("item-ns=20");
  EXPECT_EQ(runs_until_divided(add(kShort, 2), 12), 0);
  EXPECT_EQ(data(), all(24));
}

TEST_F(AutomaticSplitTest, AnotherPolicyRunsItWhole) {
  automatic_device("round-robin");
  EXPECT_EQ(runs_until_divided(add(kProvable, 1), 6), 0);
  EXPECT_EQ(data(), all(6));
}

TEST_F(AutomaticSplitTest, TheCallDoesNotWaitForItsWaitList) {
  const Owned<cl_kernel> kernel = add(kProvable, 1);
  int runs = runs_until_divided(kernel, 20);
  ASSERT_GT(runs, 0);
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> event;
  check(run(queue_, kernel, kItems, {gate}, event.out()));
  EXPECT_EQ(explain(event)["parts"].size(), 2u);
  EXPECT_GT(status(event), CL_COMPLETE);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(data(), all(runs + 1));
}

TEST_F(AutomaticSplitTest, LaterCommandsComeAfterEachPartWithAndWithoutEvents) {
  const Owned<cl_kernel> kernel = add(kProvable, 1);
  int runs = runs_until_divided(kernel, 20);
  ASSERT_GT(runs, 0);
  for (int i = 0; i < 5; ++i, ++runs) check(run(queue_, kernel, kItems));
  const Owned<cl_kernel> fill = make_kernel(build(context_, "fill_mv"), "fill_mv");
  const Owned<cl_mem> copy = make_buffer(context_, all(-1));
  check(clEnqueueCopyBuffer(queue_, data_, copy, 0, 0, kItems * sizeof(int), 0, nullptr, nullptr));
  set_arguments(fill, data_, 7);
  check(run(queue_, fill, kItems));
  EXPECT_EQ(read<int>(queue_, copy, kItems), all(runs));
  EXPECT_EQ(data(), all(7));
}

TEST_F(AutomaticSplitTest, NoCommandOfAnotherThreadComesBetweenTheParts) {
  const Owned<cl_kernel> kernel = add(kProvable, 1);
  ASSERT_GT(runs_until_divided(kernel, 20), 0);
  command_driver("item-ns=100");  // what is known of times stays for a while
  std::atomic<bool> stop = false;
  std::thread other([&] {
    for (int value = 100; !stop; value += 100) {
      check(clEnqueueFillBuffer(queue_, data_, &value, sizeof value, 0, kItems * sizeof(int), 0, nullptr, nullptr));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (int i = 0; i < 20; ++i) check(run(queue_, kernel, kItems));
  stop = true;
  other.join();
  const std::vector<int> content = data();
  EXPECT_EQ(std::set<int>(content.begin(), content.end()).size(), 1u);
}

TEST_F(AutomaticSplitOffTest, NothingIsDivided) {
  EXPECT_EQ(runs_until_divided(add(kProvable, 1), 12), 0);
  EXPECT_EQ(data(), all(12));
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) { return remotecl::testing::run_with_two_fake_daemons(argc, argv); }
