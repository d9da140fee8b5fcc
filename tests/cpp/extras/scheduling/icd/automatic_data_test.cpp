// Where the data of queues on the automatic device is, and how long it is expected to travel.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "extras/scheduling/icd/automatic_device_fixture.h"

namespace remotecl::testing {
namespace {

using nlohmann::json;
class AutomaticDataTest : public AutomaticDeviceTest {};

// Whether some device of the server holds the buffer's first bytes.
bool holds(cl_mem buffer, const std::string& server) {
  char* text = library_function<decltype(remotecl_residency_json)>("remotecl_residency_json")(buffer);
  const json holders = json::parse(text)[0]["ranges"][0]["holders"];
  library_function<decltype(remotecl_free)>("remotecl_free")(text);
  return std::any_of(holders.begin(), holders.end(),
                     [&](const json& name) { return name.get<std::string>().starts_with(server + "/"); });
}

// Under round robin two queues have kernels on different members. Data that comes next must not gather on one of them,
// however the last command of a queue was a read of another member's bytes.
TEST_F(AutomaticDataTest, NewDataGoesWhereTheQueuesKernelsAre) {
  const Owned<cl_kernel> add = make_kernel(program_, "add");
  check(set_arg(add, 1, 1));
  std::vector<Owned<cl_command_queue>> queues;
  std::vector<Owned<cl_mem>> used;
  std::vector<std::string> servers;
  for (int i = 0; i < 2; ++i) {
    queues.push_back(make_queue(context_, device_));
    used.push_back(make_buffer(context_, numbers()));
    check(set_arg(add, 0, used.back()));
    Owned<cl_event> event;
    check(run(queues.back(), add, kCount, {}, event.out()));
    check(clFinish(queues.back()));
    servers.push_back(explain(event)["device"]["server"].get<std::string>());
  }
  ASSERT_NE(servers[0], servers[1]);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read<int>(queues[i], used[1 - i], kCount), numbers(1));
    const Owned<cl_mem> written(clCreateBuffer(context_, CL_MEM_READ_WRITE, kCount * sizeof(int), nullptr, nullptr));
    const std::vector<int> data = numbers();
    check(clEnqueueWriteBuffer(queues[i], written, CL_TRUE, 0, kCount * sizeof(int), data.data(), 0, nullptr, nullptr));
    EXPECT_TRUE(holds(written, servers[i]));
    check(clEnqueueMigrateMemObjects(queues[i], 1, used[1 - i].pointer(), 0, 0, nullptr, nullptr));
    check(clFinish(queues[i]));
    EXPECT_TRUE(holds(used[1 - i], servers[i]));
  }
}

// A guess would be the same each time.
TEST_F(AutomaticDataTest, WhatATransferTakesIsMeasured) {
  const std::vector<int> large(4 << 20);
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_kernel> add = make_kernel(program_, "add");
  check(set_arg(add, 1, 1));
  std::map<std::string, std::set<double>> expected;  // by server
  for (int i = 0; i < 12; ++i) {
    const Owned<cl_mem> buffer = make_buffer(context_, large);
    check(set_arg(add, 0, buffer));
    Owned<cl_event> event;
    check(run(queue, add, kCount, {}, event.out()));
    check(clFinish(queue));
    const json why = explain(event);
    expected[why["device"]["server"].get<std::string>()].insert(why["transfer_s"].get<double>());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is not reported to the scheduler at once
  }
  ASSERT_FALSE(expected.empty());
  for (const auto& [server, seconds] : expected) EXPECT_GT(seconds.size(), 1u) << server;
}

// The program's own bytes do not travel here, so what is known of its links to the servers stays as it is.
TEST_F(AutomaticDataTest, WhatATransferBetweenServersTakesIsMeasured) {
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> buffer = make_buffer(context_, 16 << 20);
  const Owned<cl_kernel> add = make_kernel(program_, "add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  std::map<std::pair<std::string, std::string>, std::set<double>> expected;  // by servers
  std::string last;
  for (int i = 0; i < 12; ++i) {
    Owned<cl_event> event;
    check(run(queue, add, kCount, {}, event.out()));
    check(clFinish(queue));
    const json why = explain(event);
    const auto server = why["device"]["server"].get<std::string>();
    if (why["bytes"] != 0) expected[{last, server}].insert(why["transfer_s"].get<double>());
    last = server;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // it is not reported to the scheduler at once
  }
  ASSERT_FALSE(expected.empty());
  for (const auto& [servers, seconds] : expected) {
    EXPECT_GT(seconds.size(), 1u) << servers.first << " to " << servers.second;
  }
}

}  // namespace
}  // namespace remotecl::testing
