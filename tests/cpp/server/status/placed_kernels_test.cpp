// What a daemon reports of kernels that the schedulers of its clients have placed.
#include "fakes/wire/wire_monitor.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

// A session that launches a kernel.
class Launches {
 public:
  explicit Launches(const Address& address) : client_(address) {
    const ObjectId program = client_.id();
    client_.build(program, "kernel void add(global int* data, int value) { data[get_global_id(0)] += value; }");
    kernel_ = client_.make_kernel(program, "add");
    queue_ = client_.make_queue();
    buffer_ = client_.make_buffer(64);
  }
  void launch(ObjectId queue) {
    const int value = 1;
    const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, value)};
    client_.enqueue(queue, kernel_, 16, arguments);
  }
  void place(ObjectId queue) {
    client_.place_next();
    launch(queue);
  }
  ObjectId queue() const { return queue_; }
  WireClient& client() { return client_; }

 private:
  WireClient client_;
  ObjectId kernel_ = 0, queue_ = 0, buffer_ = 0;
};

// In the daemon's process, or in processes of the sessions.
class PlacedKernelsTest : public ::testing::TestWithParam<bool> {
 protected:
  struct Placed {
    std::uint64_t device = 0, user = 0;
    std::vector<std::uint64_t> sessions;
  };
  Placed placed() {
    const KnownStatus seen = monitor_.ask();
    Placed placed{seen.devices.at(0).placed, seen.users.empty() ? 0 : seen.users[0].placed, {}};
    for (const SessionStatus& session : seen.sessions) placed.sessions.push_back(session.placed[0]);
    std::ranges::sort(placed.sessions);
    return placed;
  }

  server::Server server_{
      Address{"127.0.0.1", 0}, "0", {}, {}, {}, GetParam() ? isolation() : std::optional<server::ProcessCommand>()};
  WireMonitor monitor_{server_.address()};
};

INSTANTIATE_TEST_SUITE_P(Placed, PlacedKernelsTest, ::testing::Bool(), [](const auto& with) {
  return with.param ? std::string("Isolated") : std::string("Together");
});

TEST_P(PlacedKernelsTest, AreCountedByDeviceUserAndSession) {
  Launches one(server_.address());
  {
    Launches other(server_.address());
    for (int i = 0; i < 3; ++i) one.place(one.queue());
    one.launch(one.queue());  // the client has chosen the device itself
    one.client().trace_next();
    one.place(one.queue());
    one.client().finish(one.queue());
    const ObjectId gone = other.client().make_queue();
    for (int i = 0; i < 2; ++i) other.place(gone);
    other.client().finish(gone);
    other.client().add(ReleaseQueue{gone});
    other.client().ping();
    const Placed seen = placed();
    EXPECT_EQ(seen.device, 6u);
    EXPECT_EQ(seen.user, 6u);
    EXPECT_EQ(seen.sessions, (std::vector<std::uint64_t>{2, 4}));
  }
  ASSERT_TRUE(ServerTest::eventually([&] { return placed().sessions.size() == 1; }));
  EXPECT_EQ(placed().device, 6u) << "also of sessions that have ended";
  EXPECT_EQ(placed().user, 6u);
  const std::string metrics = server_.metrics();
  EXPECT_NE(metrics.find("remotecl_user_placed_kernels_total{user=\"default\",device=\"0\"} 6\n"), std::string::npos)
      << metrics;
}

TEST_P(PlacedKernelsTest, WhatIsNoKernelIsNotPlaced) {
  Launches hostile(server_.address());
  hostile.client().place_next();
  hostile.client().send(Ping{1});
  EXPECT_NE(hostile.client().wait<SessionError>()->text.find("placed"), std::string::npos);
}

TEST_P(PlacedKernelsTest, AQueueThatDoesNotExistHasNoKernels) {
  Launches hostile(server_.address());
  hostile.place(4711);
  hostile.client().flush();
  EXPECT_NE(hostile.client().wait<SessionError>()->text.find("4711"), std::string::npos);
  EXPECT_EQ(placed().device, 0u);
}

}  // namespace
}  // namespace remotecl::testing
