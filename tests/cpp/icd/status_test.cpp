// remotecl.h's functions about servers and this process, checked against work that is known.
#include <dlfcn.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "icd/fixture.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

using nlohmann::json;

// The library that the loader has opened.
class Library {
 public:
  Library() {
    std::string path;
    std::ifstream(Environment::get().folder() + "/remotecl.icd") >> path;
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  }
  ~Library() { ::dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Function>
  Function* find(const char* name, Function*) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }
  json take(char* text) const {
    const json value = text == nullptr ? json() : json::parse(text);
    find("remotecl_free", &remotecl_free)(text);
    return value;
  }

 private:
  void* handle_;
};
#define REMOTECL_CALL(function, ...) library_.find(#function, &function)(__VA_ARGS__)

class StatusTest : public RemoteTest {
 protected:
  json stats() { return library_.take(REMOTECL_CALL(remotecl_stats_json)); }
  json operations() { return library_.take(REMOTECL_CALL(remotecl_operations_json)); }
  // Of the first device's server.
  json status() {
    const json servers = library_.take(REMOTECL_CALL(remotecl_status_json));
    EXPECT_EQ(servers.at(0)["state"], "connected");
    EXPECT_EQ(servers.at(0)["address"], Environment::get().daemon(0).address());
    return servers.at(0)["status"];
  }
  static json own(const json& status) {
    for (const json& session : status["sessions"]) {
      if (session["is_own"]) return session;
    }
    return {};
  }

  Library library_;
};

TEST_F(StatusTest, MemoryOfThreeBuffers) {
  constexpr std::size_t kMiB = 1u << 20;
  std::uint64_t before = own(status())["memory"][0];
  // A driver may hold the last test's memory for a moment.
  for (int i = 0; i < 200 && before != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    before = own(status())["memory"][0];
  }
  const int seven = 7;
  std::vector<Owned<cl_mem>> buffers;
  for (const std::size_t size : {kMiB, 2 * kMiB, 4 * kMiB}) {
    buffers.push_back(make_buffer(context_, size));
    check(clEnqueueFillBuffer(queue_, buffers.back(), &seven, 4, 0, 64, 0, nullptr, nullptr));
  }
  check(clFinish(queue_));
  const json seen = status();
  EXPECT_EQ(own(seen)["memory"][0].get<std::uint64_t>() - before, 7 * kMiB);
  EXPECT_EQ(own(seen)["process"], ::getpid());
  EXPECT_GE(seen["devices"][0]["memory_used"].get<std::uint64_t>(), 7 * kMiB);
  buffers.clear();
  check(clFinish(queue_));
  EXPECT_EQ(own(status())["memory"][0].get<std::uint64_t>(), before);
}

TEST_F(StatusTest, CommandsAndQueueDepth) {
  const json before = status();
  const Owned<cl_event> gate = make_user_event(context_);
  const Owned<cl_mem> buffer = make_buffer(context_, 4096);
  const int seven = 7;
  for (int i = 0; i < 5; ++i) {
    check(clEnqueueFillBuffer(queue_, buffer, &seven, 4, 0, 64, 1, gate.pointer(), nullptr));
  }
  const json waiting = status();
  EXPECT_EQ(own(waiting)["commands"].get<int>() - own(before)["commands"].get<int>(), 5);
  EXPECT_EQ(waiting["devices"][0]["queue_depth"].get<int>() - before["devices"][0]["queue_depth"].get<int>(), 5);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(status()["devices"][0]["queue_depth"], before["devices"][0]["queue_depth"]);
}

TEST_F(StatusTest, TrafficOfALargeWrite) {
  const std::vector<char> bytes(10u << 20);
  const Owned<cl_mem> buffer = make_buffer(context_, bytes.size());
  const json before = stats()["servers"][0]["traffic"]["bulk"]["sent"];
  check(clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr));
  const json after = stats()["servers"][0]["traffic"]["bulk"]["sent"];
  EXPECT_EQ(after["messages"].get<int>() - before["messages"].get<int>(), 1);
  // Three chunks and their headers.
  EXPECT_EQ(after["bytes"].get<std::uint64_t>() - before["bytes"].get<std::uint64_t>(), bytes.size() + 3 * 16);
}

TEST_F(StatusTest, ReadsThatNeedNoTransfer) {
  const Owned<cl_mem> from = make_buffer(context_, numbers(1024)), to = make_buffer(context_, 4096);
  const json before = stats()["transfers"];
  for (int i = 0; i < 3; ++i) {
    check(clEnqueueCopyBuffer(queue_, from, to, 0, 0, 4096, 0, nullptr, nullptr));
  }
  check(clFinish(queue_));
  const json after = stats()["transfers"];
  const auto grown = [&](const char* route, const char* what) {
    return after[route][what].get<std::uint64_t>() - before[route][what].get<std::uint64_t>();
  };
  EXPECT_EQ(grown("from_host", "count"), 1u);
  EXPECT_EQ(grown("from_host", "bytes"), 4096u);
  EXPECT_EQ(grown("saved", "count"), 2u);
  EXPECT_EQ(grown("saved", "bytes"), 2u * 4096);
}

TEST_F(StatusTest, BuildsAreOperations) {
  std::string source;
  for (int i = 0; i < 100; ++i) {
    source +=
        "kernel void k" + std::to_string(i) + "(global float* x) { x[" + std::to_string(::getpid()) + "] = 1; }\n";
  }
  const Owned<cl_program> program = make_program(context_, source);
  std::atomic<bool> built{false};
  std::thread builder([&] {
    const cl_device_id on = device();
    EXPECT_EQ(clBuildProgram(program, 1, &on, nullptr, nullptr, nullptr), CL_SUCCESS);
    built = true;
  });
  json seen;
  while (!built && seen.empty()) seen = operations();
  builder.join();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0]["kind"], "build");
  EXPECT_EQ(seen[0]["where"], Environment::get().daemon(0).address());
  EXPECT_EQ(seen[0]["total"], 1);
  EXPECT_TRUE(operations().empty());
}

TEST_F(StatusTest, MonitorsNeedNoSession) {
  char* error = nullptr;
  remotecl_monitor* monitor =
      REMOTECL_CALL(remotecl_monitor_open, Environment::get().daemon(1).address().c_str(), &error);
  ASSERT_NE(monitor, nullptr);
  const json seen = library_.take(REMOTECL_CALL(remotecl_monitor_status_json, monitor, &error));
  EXPECT_EQ(seen["session_count"], 1) << "this program's";
  EXPECT_EQ(seen["process"], Environment::get().daemon(1).process());
  EXPECT_TRUE(own(seen).is_null());
  EXPECT_GT(seen["round_trip_us"].get<double>(), 0);
  REMOTECL_CALL(remotecl_monitor_close, monitor);
  for (const char* wrong : {"127.0.0.1:1", "127.0.0.1:no port"}) {
    EXPECT_EQ(REMOTECL_CALL(remotecl_monitor_open, wrong, &error), nullptr);
    EXPECT_NE(library_.take(error).get<std::string>().find("127.0.0.1"), std::string::npos);
  }
}

}  // namespace
}  // namespace remotecl::testing
