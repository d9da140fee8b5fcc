#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "icd/fake_driver.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {

using namespace std::chrono_literals;

// On a driver whose kernels' events end only after all kernels that were launched before, in any queue: a long kernel
// runs, for which nothing else may wait.
class LateEventsTest : public FakeDriverTest {
 protected:
  // Until the long kernel has ended.
  static constexpr std::size_t kLong = 1500;  // items, of a millisecond each
  static constexpr std::uint64_t kLarge = 1 << 20;

  explicit LateEventsTest(cl_device_type type = CL_DEVICE_TYPE_GPU) : device_(devices(type).front()) {
    set_arguments(fill_, buffer_, 37);
    set_arguments(long_fill_, long_buffer_, 1);
    check(run(busy_, long_fill_, kLong, {}, long_.out()));
    check(clFlush(busy_));
  }
  ~LateEventsTest() override {
    EXPECT_NE(status_when_seen_, CL_COMPLETE) << "the test waited for the long kernel";
    check(clFinish(busy_));
  }
  // Of all sessions' objects on all devices, as their server reports it.
  static std::uint64_t memory_used() {
    char* const text = library_function<decltype(remotecl_status_json)>("remotecl_status_json")();
    const std::string all = text, key = "\"memory_used\":";
    library_function<decltype(remotecl_free)>("remotecl_free")(text);
    std::uint64_t sum = 0;
    for (std::size_t at = 0; (at = all.find(key, at)) != std::string::npos; at += key.size()) {
      sum += std::stoull(all.substr(at + key.size()));
    }
    return sum;
  }
  // Releases a buffer while the long kernel runs, and waits for that kernel.
  void release_large(cl_command_queue queue) {
    Owned<cl_mem> large = make_buffer(context_, std::vector<int>(kLarge / sizeof(int), 5));
    EXPECT_EQ(read<int>(queue, large, 1).front(), 5);
    large.reset();
    EXPECT_GE(memory_used(), kLarge);
    seen();
    check(clFinish(busy_));
  }
  static bool large_becomes_free() {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (memory_used() >= kLarge && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
    return memory_used() < kLarge;
  }
  // The others have ended.
  void seen() { status_when_seen_ = status(long_); }

  const cl_device_id device_;
  const Owned<cl_context> context_ = make_context({device_});
  const Owned<cl_command_queue> busy_ = make_queue(context_, device_), queue_ = make_queue(context_, device_);
  const Owned<cl_program> program_ = build(context_, "fill_mv");
  const Owned<cl_kernel> fill_ = make_kernel(program_, "fill_mv"), long_fill_ = make_kernel(program_, "fill_mv");
  const Owned<cl_mem> buffer_ = make_buffer(context_, kCount * sizeof(int));
  const Owned<cl_mem> long_buffer_ = make_buffer(context_, kLong * sizeof(int));
  Owned<cl_event> long_;
  cl_int status_when_seen_ = CL_COMPLETE;
};

}  // namespace remotecl::testing
