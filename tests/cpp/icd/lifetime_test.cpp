// Who keeps whom alive, and what is left on the server when all is released.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

class LifetimeTest : public RemoteTest {
 protected:
  // Pages that the first daemon has in memory, in bytes.
  static std::size_t daemon_memory() {
    std::ifstream file("/proc/" + std::to_string(Environment::get().daemon(0).process()) + "/statm");
    std::size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }
};

// A device of a daemon that ends a session for which it keeps too much.
class LifetimeOnASmallServerTest : public LifetimeTest {
 protected:
  explicit LifetimeOnASmallServerTest(const std::string& host_memory)
      : daemon_({}, {"--limit", "session.host-memory=" + host_memory}) {
    const std::string address = daemon_.address();
    EXPECT_EQ(library_function<decltype(remotecl_connect)>("remotecl_connect")(address.c_str(), nullptr), 0);
    cl_uint count = 0;
    check(clGetDeviceIDs(Environment::get().remote_platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &count));
    std::vector<cl_device_id> devices(count);
    check(clGetDeviceIDs(Environment::get().remote_platform(), CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr));
    device_ = devices.back();
    EXPECT_EQ(text(clGetDeviceInfo, device_, CL_DEVICE_REMOTECL_SERVER), address);
  }
  ~LifetimeOnASmallServerTest() override {
    const auto disconnect = library_function<decltype(remotecl_disconnect)>("remotecl_disconnect");
    EXPECT_EQ(disconnect(daemon_.address().c_str(), nullptr), 0);
  }

  cl_device_id device_ = nullptr;

 private:
  Daemon daemon_;
};

// With room for some hundred queues.
class LifetimeOfQueuesTest : public LifetimeOnASmallServerTest {
 protected:
  LifetimeOfQueuesTest() : LifetimeOnASmallServerTest("32MiB") {}
};

// With room for about 2,000 events.
class LifetimeOfEventsTest : public LifetimeOnASmallServerTest {
 protected:
  LifetimeOfEventsTest() : LifetimeOnASmallServerTest("2MiB") {}
};

TEST_F(LifetimeTest, ThousandsOfObjectsLeaveTheServerAsItWas) {
  const auto cycle = [this] {
    const Owned<cl_command_queue> queue = make_queue(context_, device(0));
    for (int i = 0; i < 10; ++i) {
      const Owned<cl_mem> buffer = make_buffer(context_, 1u << 16);
      const Owned<cl_mem> part = make_sub_buffer(buffer, 4096, 4096);
      const Owned<cl_kernel> add = kernel("add");
      check(set_arg(add, 0, part));
      check(set_arg(add, 1, 1));
      const int zero = 0;
      Owned<cl_event> filled, added;
      check(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 1u << 16, 0, nullptr, filled.out()));
      check(run(queue, add, 1024, {filled}, added.out()));
    }
    check(clFinish(queue));
  };
  for (int i = 0; i < 100; ++i) cycle();
  const std::size_t before = daemon_memory();
  for (int i = 0; i < 500; ++i) cycle();
  const std::size_t after = daemon_memory();
  // 5,000 buffers of 64 KiB, as many kernels, twice as many events: one byte kept of each would show in sum, a buffer
  // kept now and then even more so.
  EXPECT_LT(after, before + (8u << 20));
}

// However the application learns that their commands have ended, and also if it never does.
TEST_F(LifetimeOfQueuesTest, ABufferKeepsNoQueuesWhoseCommandsHaveEnded) {
  const Owned<cl_context> context = make_context({device_});
  const Owned<cl_command_queue> lasting = make_queue(context, device_);
  enum class Wait { kFinish, kEvent, kNone };
  for (const cl_command_queue_properties order : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}) {
    for (const Wait wait : {Wait::kFinish, Wait::kEvent, Wait::kNone}) {
      const Owned<cl_mem> buffer = make_buffer(context, 4096);
      for (int i = 0; i < 400; ++i) {
        const Owned<cl_command_queue> queue = make_queue(context, device_, order);
        const int zero = 0;
        Owned<cl_event> filled;
        check(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 4096, 0, nullptr, filled.out()));
        if (wait == Wait::kFinish) check(clFinish(queue));
        if (wait == Wait::kEvent) check(clWaitForEvents(1, filled.pointer()));
        if (i % 4 != 0) continue;
        // A busy machine may fall behind by more queues than there is room for.
        check(clEnqueueMarkerWithWaitList(lasting, 1, filled.pointer(), nullptr));
        check(clFinish(lasting));
      }
    }
  }
}

// Each kernel gets bytes by a transfer, so its queue keeps its event for a while.
TEST_F(LifetimeOfEventsTest, AQueueKeepsFewEventsAndNoneAfterItsEnd) {
  const Owned<cl_context> context = make_context({device_});
  const Owned<cl_program> program = build(context, kSource);
  const Owned<cl_kernel> add = make_kernel(program, "add");
  check(set_arg(add, 1, 1));
  const std::vector<int> bytes(20000);
  enum class Events { kNone, kReleasedAtOnce, kReleasedLater };
  for (const Events events : {Events::kNone, Events::kReleasedAtOnce, Events::kReleasedLater}) {
    for (int i = 0; i < 120; ++i) {
      const Owned<cl_command_queue> queue = make_queue(context, device_);
      std::vector<Owned<cl_event>> held;
      for (int kernels = 0; kernels < 40; ++kernels) {
        const Owned<cl_mem> buffer = make_buffer(context, bytes);
        check(set_arg(add, 0, buffer));
        Owned<cl_event> event;
        check(run(queue, add, 16, {}, events == Events::kNone ? nullptr : event.out()));
        if (events == Events::kReleasedLater) held.push_back(std::move(event));
      }
      check(clFinish(queue));
    }
  }
}

// Neither if the kernels' own queue is never waited for.
TEST_F(LifetimeOfEventsTest, ABufferKeepsNoSmallTransfersThatHaveEnded) {
  const Owned<cl_context> context = make_context({device_});
  const Owned<cl_command_queue> maps = make_queue(context, device_), kernels = make_queue(context, device_);
  const Owned<cl_program> program = build(context, kSource);
  const Owned<cl_kernel> add = make_kernel(program, "add");
  for (const cl_command_queue queue : {maps.get(), kernels.get()}) {
    const Owned<cl_mem> buffer = make_buffer(context, 4096, CL_MEM_ALLOC_HOST_PTR);
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1));
    Owned<cl_event> added;
    for (int i = 0; i < 4000; ++i) {
      cl_int error = CL_SUCCESS;
      auto* const numbers =
          static_cast<int*>(clEnqueueMapBuffer(maps, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096,
                                               i == 0 ? 0 : 1, i == 0 ? nullptr : added.pointer(), nullptr, &error));
      check(error);
      ASSERT_EQ(numbers[5], 3 * i);
      numbers[5] += 2;
      Owned<cl_event> unmapped;
      check(clEnqueueUnmapMemObject(maps, buffer, numbers, 0, nullptr, unmapped.out()));
      added = {};
      check(run(queue, add, 16, {unmapped}, added.out()));
    }
    check(clFinish(queue));
  }
}

TEST_F(LifetimeTest, ParentsMayBeReleasedFirst) {
  const Owned<cl_context> context = make_context({device(0)});
  Owned<cl_command_queue> queue = make_queue(context, device(0));
  Owned<cl_mem> buffer = make_buffer(context, numbers(1024));
  const Owned<cl_mem> part = make_sub_buffer(buffer, 0, 1024);
  Owned<cl_program> program = build(context, kSource);
  const Owned<cl_kernel> add = make_kernel(program, "add");
  check(set_arg(add, 0, part));
  check(set_arg(add, 1, 5));
  check(clReleaseContext(context));
  buffer = {};
  program = {};
  check(run(queue, add, 256));
  EXPECT_EQ(read<int>(queue, part, 256), numbers(256, 5));
  cl_context again = nullptr;
  check(clGetMemObjectInfo(part, CL_MEM_CONTEXT, sizeof again, &again, nullptr));
  EXPECT_EQ(again, context.get());
  check(clRetainContext(context));
}

TEST_F(LifetimeTest, WorkInFlightOutlivesItsQueueAndBuffers) {
  std::vector<int> host(1 << 16);
  Owned<cl_event> done;
  {
    const Owned<cl_command_queue> queue = make_queue(context_, device(0));
    const Owned<cl_mem> buffer = make_buffer(context_, numbers(1 << 16));
    const Owned<cl_kernel> add = kernel("add");
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 7));
    for (int i = 0; i < 100; ++i) check(run(queue, add, 1 << 16));
    check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, host.size() * 4, host.data(), 0, nullptr, done.out()));
  }
  check(clWaitForEvents(1, done.pointer()));
  EXPECT_TRUE(host == numbers(1 << 16, 700));
}

TEST_F(LifetimeTest, DestructorCallbacksComeInReverseOrderAfterTheLastUse) {
  static std::vector<int> order;
  order.clear();
  Owned<cl_mem> buffer = make_buffer(context_, 4096);
  const auto called = [](cl_mem, void* number) { order.push_back(*static_cast<int*>(number)); };
  int ids[3] = {1, 2, 3};
  for (int& id : ids) check(clSetMemObjectDestructorCallback(buffer, called, &id));
  Owned<cl_mem> part = make_sub_buffer(buffer, 0, 2048);
  buffer = {};
  EXPECT_TRUE(order.empty()) << "the sub-buffer still uses it";
  part = {};
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1}));
}

TEST_F(LifetimeTest, KernelKeepsNoArgumentAlive) {
  static std::atomic<bool> gone;
  gone = false;
  const Owned<cl_kernel> add = kernel("add");
  {
    const Owned<cl_mem> buffer = make_buffer(context_, 4096);
    check(clSetMemObjectDestructorCallback(
        buffer, [](cl_mem, void*) { gone = true; }, nullptr));
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1));
  }
  EXPECT_TRUE(gone);
  // Natively undefined; here a clear answer.
  EXPECT_EQ(run(queue_, add, 16), CL_INVALID_KERNEL_ARGS);
}

TEST_F(LifetimeTest, AnyThreadAtOnce) {
  const Owned<cl_mem> shared = make_buffer(context_, std::vector<int>(64, 0));
  program();
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const cl_command_queue queue = t % 2 == 0 ? queue_ : other_;
      for (int i = 0; i < 50; ++i) {
        const Owned<cl_mem> own = make_buffer(context_, numbers(256));
        const Owned<cl_kernel> add = kernel("add");
        if (set_arg(add, 0, own) != CL_SUCCESS || set_arg(add, 1, t) != CL_SUCCESS) ++failures;
        Owned<cl_event> done;
        if (run(queue, add, 256, {}, done.out()) != CL_SUCCESS) ++failures;
        if (clWaitForEvents(1, done.pointer()) != CL_SUCCESS) ++failures;
        if (read<int>(i % 2 == 0 ? queue_ : other_, own, 256) != numbers(256, t)) ++failures;
        read<int>(queue, shared, 64);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(LifetimeTest, CallbackMayCallOpenCL) {
  struct State {
    cl_command_queue queue;
    cl_mem buffer;
    std::atomic<int> value{0};
    std::atomic<bool> called{false};
  };
  const Owned<cl_mem> buffer = make_buffer(context_, numbers(16, 42));
  State state{queue_, buffer};
  Owned<cl_event> marker;
  check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  const auto callback = [](cl_event, cl_int, void* data) {
    auto& in = *static_cast<State*>(data);
    int first = 0;
    clEnqueueReadBuffer(in.queue, in.buffer, CL_TRUE, 0, 4, &first, 0, nullptr, nullptr);
    in.value = first;
    in.called = true;
  };
  check(clSetEventCallback(marker, CL_COMPLETE, callback, &state));
  for (int i = 0; i < 5000 && !state.called; ++i) ::usleep(1000);
  EXPECT_TRUE(state.called);
  EXPECT_EQ(state.value, 42);
}

}  // namespace
}  // namespace remotecl::testing
