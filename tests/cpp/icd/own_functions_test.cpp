// The functions of remotecl.h that act on OpenCL objects.
#include <dlfcn.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "icd/fixture.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

class OwnFunctionsTest : public RemoteTest {
 protected:
  OwnFunctionsTest() {
    std::string path;
    std::ifstream(Environment::get().folder() + "/remotecl.icd") >> path;
    library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    prefetch_ = reinterpret_cast<decltype(prefetch_)>(::dlsym(library_, "remotecl_prefetch"));
    limit_waits_ = reinterpret_cast<decltype(limit_waits_)>(::dlsym(library_, "remotecl_limit_waits"));
    has_ended_ = reinterpret_cast<decltype(has_ended_)>(::dlsym(library_, "remotecl_has_ended"));
    set_content_size_ = reinterpret_cast<decltype(set_content_size_)>(::dlsym(library_, "remotecl_set_content_size"));
  }
  ~OwnFunctionsTest() override { ::dlclose(library_); }

  cl_int prefetch(cl_device_id to, const std::vector<cl_mem>& objects, const std::vector<cl_event>& wait_for = {}) {
    return prefetch_(to, static_cast<cl_uint>(objects.size()), objects.data(), static_cast<cl_uint>(wait_for.size()),
                     wait_for.empty() ? nullptr : wait_for.data(), event_.out());
  }

  void* library_;
  decltype(&remotecl_prefetch) prefetch_;
  decltype(&remotecl_limit_waits) limit_waits_;
  decltype(&remotecl_has_ended) has_ended_;
  decltype(&remotecl_set_content_size) set_content_size_;
  Owned<cl_mem> buffer_ = make_buffer(context_, numbers(64));
  Owned<cl_event> event_;
};

TEST_F(OwnFunctionsTest, WaitsWithALimitEndBeforeTheirCommands) {
  const Owned<cl_event> gate = make_user_event(context_);
  const int value = 7;
  check(clEnqueueFillBuffer(queue_, buffer_, &value, sizeof value, 0, 64 * sizeof value, 1, gate.pointer(),
                            event_.out()));
  constexpr std::uint64_t kLimitNs = 1'000'000;
  const auto is_over = [&](cl_int code) {
    EXPECT_EQ(code, CL_SUCCESS);
    return limit_waits_(kLimitNs) == REMOTECL_WAIT_OVER;
  };
  std::vector<int> read(64);
  Owned<cl_event> arrived;
  limit_waits_(kLimitNs);
  EXPECT_TRUE(is_over(clWaitForEvents(1, event_.pointer())));
  EXPECT_TRUE(is_over(clFinish(queue_)));
  EXPECT_TRUE(is_over(clFinish(queue_)));  // the same answer is awaited
  EXPECT_TRUE(is_over(
      clEnqueueReadBuffer(queue_, buffer_, CL_TRUE, 0, 64 * sizeof value, read.data(), 0, nullptr, arrived.out())));
  EXPECT_EQ(has_ended_(arrived), 0);
  limit_waits_(0);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(has_ended_(arrived), 1);
  EXPECT_EQ(read, std::vector<int>(64, value));
  EXPECT_EQ(limit_waits_(0), 0u);
}

TEST_F(OwnFunctionsTest, OneThreadsLimitIsNotAnothers) {
  const Owned<cl_event> gate = make_user_event(context_);
  check(clEnqueueMarkerWithWaitList(queue_, 1, gate.pointer(), event_.out()));
  std::atomic<bool> has_waited{false};
  limit_waits_(1);
  std::thread other([&] {
    EXPECT_EQ(clWaitForEvents(1, event_.pointer()), CL_SUCCESS);
    EXPECT_EQ(limit_waits_(0), 0u);
    has_waited = true;
  });
  EXPECT_EQ(clWaitForEvents(1, event_.pointer()), CL_SUCCESS);
  EXPECT_EQ(limit_waits_(0), static_cast<unsigned>(REMOTECL_WAIT_OVER));
  EXPECT_FALSE(has_waited);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  other.join();
  EXPECT_TRUE(has_waited);
}

TEST_F(OwnFunctionsTest, PrefetchGoesAfterWhoWrites) {
  const Owned<cl_event> gate = make_user_event(context_);
  const int value = 7;
  check(clEnqueueFillBuffer(queue_, buffer_, &value, sizeof value, 0, 64 * sizeof value, 1, gate.pointer(), nullptr));
  check(prefetch(device(1), {buffer_}));
  cl_command_queue queue = queue_;
  check(clGetEventInfo(event_, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr));
  EXPECT_EQ(queue, nullptr);
  cl_int status = CL_COMPLETE;
  check(clGetEventInfo(event_, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr));
  EXPECT_GT(status, CL_COMPLETE);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clWaitForEvents(1, event_.pointer()));
  EXPECT_EQ(read<int>(other_, buffer_, 64), std::vector<int>(64, value));
}

TEST_F(OwnFunctionsTest, PrefetchDoesNotWaitForOthers) {
  const Owned<cl_mem> other = make_buffer(context_, numbers(64));
  check(prefetch(device(1), {buffer_}));
  check(clWaitForEvents(1, event_.pointer()));
  const Owned<cl_event> gate = make_user_event(context_);
  check(prefetch(device(1), {other}, {gate}));
  const int value = 7;
  check(clEnqueueFillBuffer(queue_, buffer_, &value, sizeof value, 0, 64 * sizeof value, 0, nullptr, nullptr));
  check(clFinish(queue_));
  check(prefetch(device(1), {buffer_}));
  EXPECT_TRUE(ends(event_));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_EQ(read<int>(other_, buffer_, 64), std::vector<int>(64, value));
}

TEST_F(OwnFunctionsTest, PrefetchNeedsNoEvent) {
  const cl_mem buffer = buffer_;
  check(prefetch_(device(1), 1, &buffer, 0, nullptr, nullptr));
  EXPECT_EQ(read<int>(other_, buffer_, 64), numbers(64));
}

TEST_F(OwnFunctionsTest, PrefetchRefusesWhatDoesNotFit) {
  const Owned<cl_context> alone = make_context({device(0)});
  const Owned<cl_mem> foreign = make_buffer(alone, 64);
  const Owned<cl_event> foreign_event = make_user_event(alone);
  EXPECT_EQ(prefetch(nullptr, {buffer_}), CL_INVALID_DEVICE);
  EXPECT_EQ(prefetch(device(1), {foreign}), CL_INVALID_DEVICE);
  EXPECT_EQ(prefetch(device(0), {}), CL_INVALID_VALUE);
  EXPECT_EQ(prefetch_(device(0), 1, nullptr, 0, nullptr, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(prefetch(device(0), {nullptr}), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(prefetch(device(0), {buffer_, foreign}), CL_INVALID_CONTEXT);
  EXPECT_EQ(prefetch(device(0), {buffer_}, {foreign_event}), CL_INVALID_CONTEXT);
  EXPECT_EQ(prefetch(device(0), {buffer_}, {nullptr}), CL_INVALID_EVENT_WAIT_LIST);
}

TEST_F(OwnFunctionsTest, ContentSizeRefusesWhatDoesNotFit) {
  const Owned<cl_mem> size = make_buffer(context_, sizeof(cl_ulong)), small = make_buffer(context_, 4);
  const Owned<cl_mem> large = make_buffer(context_, 8192);
  const Owned<cl_mem> part = make_sub_buffer(large, 0, 4096);
  const Owned<cl_context> alone = make_context({device(0)});
  const Owned<cl_mem> foreign = make_buffer(alone, 64);
  EXPECT_EQ(set_content_size_(buffer_, size), CL_SUCCESS);
  EXPECT_EQ(set_content_size_(buffer_, nullptr), CL_SUCCESS);
  EXPECT_EQ(set_content_size_(nullptr, size), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(set_content_size_(buffer_, part), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(set_content_size_(part, size), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(set_content_size_(part, nullptr), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(set_content_size_(buffer_, foreign), CL_INVALID_CONTEXT);
  EXPECT_EQ(set_content_size_(buffer_, small), CL_INVALID_BUFFER_SIZE);
}

}  // namespace
}  // namespace remotecl::testing
