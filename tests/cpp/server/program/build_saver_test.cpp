#include "server/program/build_saver.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using namespace server;

class CountingStore final : public ContentStore {
 public:
  std::optional<std::vector<std::byte>> find(const std::string&, const Digest&) override { return {}; }
  void keep(const std::string&, const Digest&, Bytes) override { ++kept; }

  std::atomic<int> kept{0};
};

using BuildSaverTest = ServerTest;

// The process ends after that.
TEST_F(BuildSaverTest, SavingEverythingIncludesWhatTheThreadHasBegunToSave) {
  CountingStore store;
  std::promise<void> begun, goes_on;
  BuildSaver saver(store, [&](cl_program, std::vector<std::byte>& binary) {
    begun.set_value();
    goes_on.get_future().wait();
    binary.resize(1);
    return CL_SUCCESS;
  });
  cl_int error = CL_SUCCESS;
  const cl_context context = server_.driver().device(0)->context(error);
  const char* source = "kernel void f() {}";
  const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  saver.add({"alice", {}, program, {}, nullptr});
  clReleaseProgram(program);
  begun.get_future().wait();
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    goes_on.set_value();
  });
  saver.save_all(std::chrono::steady_clock::now() + 1min);
  EXPECT_EQ(store.kept, 1);
  later.join();
}

// PoCL confuses what it compiles for the binary with what a running kernel of a fixed size was compiled to, and ends
// the process.
TEST_F(BuildSaverTest, ADriverThatCompilesForBinariesIsAskedForFixedWorkGroupsOnlyAtTheEnd) {
  CountingStore store;
  std::promise<void> saved;
  std::mutex mutex;
  std::vector<cl_program> asked;
  cl_int error = CL_SUCCESS;
  const cl_context context = server_.driver().device(0)->context(error);
  const char* source = "kernel void f() {}";
  const cl_program fixed = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  const cl_program other = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  BuildSaver saver(store, [&](cl_program program, std::vector<std::byte>& binary) {
    const std::lock_guard lock(mutex);
    asked.push_back(program);
    if (program == other) saved.set_value();
    binary.resize(1);
    return CL_SUCCESS;
  });
  BuildRecord record;
  record.kernels.emplace_back().values.compile_work_group_size = {64, 1, 1};
  const auto all_used = std::make_shared<UnusedKernels>(std::vector<KernelRecord>{}, [] {});
  saver.add({"alice", {}, fixed, record, all_used});
  saver.add({"alice", {}, other, {}, all_used});
  saved.get_future().wait();
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(asked, std::vector{other});
  }
  saver.save_all(std::chrono::steady_clock::now() + 1min);
  EXPECT_EQ(store.kept, 2);
  clReleaseProgram(fixed);
  clReleaseProgram(other);
}

}  // namespace
}  // namespace remotecl::testing
