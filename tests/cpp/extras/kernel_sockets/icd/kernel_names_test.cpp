// Kernels of several servers that find each other by name, over links that can be cut.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Sockets belong to the network, so each kernel makes one call or has one conversation.
constexpr char kNamesSource[] = R"(
#include "remotecl/net.cl"
#define PIECE 16384
#define ARGUMENTS global rcl_net* net, global const char* address, int s, int own, int count, global uchar* scratch, global int* result
kernel void bind(ARGUMENTS) {
  RCL_GROUP(g, net);
  int bound = rcl_bind(g, address, 4);
  if (get_local_id(0) == 0) *result = bound;
}
kernel void join(ARGUMENTS) {
  RCL_GROUP(g, net);
  int joined = rcl_connect(g, address);
  if (get_local_id(0) == 0) *result = joined;
}
kernel void take(ARGUMENTS) {
  RCL_GROUP(g, net);
  int taken = rcl_accept(g, s);
  if (get_local_id(0) == 0) *result = taken;
}
kernel void leave(ARGUMENTS) {
  RCL_GROUP(g, net);
  int left = rcl_close(g, s);
  if (get_local_id(0) == 0) *result = left;
}
kernel void hear(ARGUMENTS) {
  RCL_GROUP(g, net);
  int heard = rcl_recv(g, s, scratch, PIECE);
  if (get_local_id(0) == 0) *result = heard;
}
kernel void say(ARGUMENTS) {
  RCL_GROUP(g, net);
  int said = rcl_send(g, s, scratch, count);
  if (get_local_id(0) == 0) *result = said;
}
uchar letter(int own, int at) { return (uchar)(at * 7 + (at >> 8) + own); }
// Sends and receives `count` bytes at the same time, then ends its stream and awaits the other one's end.
// result = {error, wrong bytes, after the end, received}
kernel void exchange(ARGUMENTS) {
  RCL_GROUP(g, net);
  local int sock, wrong;
  local uint wanted, ready;
  int sent = 0, got = 0, failed = 0, items = get_local_size(0), me = get_local_id(0);
  global uchar* in = scratch + PIECE;
  if (me == 0) { sock = s; wrong = 0; }
  while (!failed && (sent < count || got < count)) {
    if (me == 0) wanted = (sent < count ? RCL_POLLOUT : 0) | (got < count ? RCL_POLLIN : 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    int events = rcl_poll(g, &sock, &wanted, &ready, 1, 60000);
    int size = min(count - sent, PIECE);
    for (int i = me; i < size; i += items) scratch[i] = letter(own, sent + i);
    int out = rcl_send_nb(g, size > 0 ? s : -1, scratch, size);
    int came = rcl_recv_nb(g, got < count ? s : -1, in, PIECE);
    for (int i = me; i < came; i += items) if (in[i] != letter(!own, got + i)) atomic_inc(&wrong);
    failed = events == 0 ? -RCL_ETIMEDOUT : min(events, 0);
    if (size > 0 && out < 0 && out != -RCL_EAGAIN) failed = out;
    if (got < count && came <= 0 && came != -RCL_EAGAIN) failed = came == 0 ? -RCL_EPIPE : came;
    sent += max(out, 0);
    got += max(came, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  rcl_shutdown(g, s);
  int after = rcl_recv(g, s, in, 1);
  if (me == 0) { result[0] = failed; result[1] = wrong; result[2] = after; result[3] = got; }
}
// The one that talks (own) sends all and ends its stream, then hears the answer; the other one answers after that end.
// result = {received, of the last receive, of the answer}
kernel void talk(ARGUMENTS) {
  RCL_GROUP(g, net);
  int total = 0, n = 1, talker = own ? s : -1, sent = 0;
  for (int done = 0; done < count; done += PIECE) sent = rcl_send_all(g, talker, scratch, PIECE);
  rcl_shutdown(g, talker);
  while (n > 0) {
    n = rcl_recv(g, s, scratch + PIECE, PIECE);
    total += max(n, 0);
  }
  int answered = rcl_send_all(g, own ? -1 : s, scratch, 1000);
  rcl_close(g, s);
  if (get_local_id(0) == 0) { result[0] = total; result[1] = n; result[2] = own ? sent : answered; }
}
)";

class KernelNamesTest : public ::testing::Test {
 protected:
  // A kernel that was started.
  struct Run {
    Owned<cl_kernel> kernel;
    Owned<cl_mem> address, scratch, results;
    Owned<cl_event> done;
    cl_command_queue queue;

    bool ends_within(std::chrono::milliseconds time) const {
      for (const auto end = Clock::now() + time; Clock::now() < end; std::this_thread::sleep_for(1ms)) {
        if (status(done) <= CL_COMPLETE) return true;
      }
      return false;
    }
    std::vector<int> result() const {
      EXPECT_TRUE(ends_within(90s));
      return read<int>(queue, results, 4);
    }
  };

  static cl_device_id device(std::size_t index) { return Environment::get().devices().at(index); }
  cl_mem network(std::size_t at) {
    cl_int error = CL_SUCCESS;
    if (networks_[at].get() == nullptr) {
      networks_[at] = Owned<cl_mem>(create_(context_, device(at), nullptr, &error));
      queues_[at] = make_queue(context_, device(at));
    }
    EXPECT_EQ(error, CL_SUCCESS);
    return networks_[at];
  }
  Run start(std::size_t at, const char* name, const std::string& address, int socket = -1, int own = 0, int count = 0) {
    const cl_mem net = network(at);
    Run run{make_kernel(program_, name),
            make_buffer(context_, std::vector<char>(address.c_str(), address.c_str() + address.size() + 1)),
            make_buffer(context_, 65536),
            make_buffer(context_, std::vector<int>(4, 1)),
            {},
            queues_[at]};
    check(clSetKernelArg(run.kernel, 0, sizeof net, &net));
    check(set_arg(run.kernel, 1, run.address));
    check(set_arg(run.kernel, 2, socket));
    check(set_arg(run.kernel, 3, own));
    check(set_arg(run.kernel, 4, count));
    check(set_arg(run.kernel, 5, run.scratch));
    check(set_arg(run.kernel, 6, run.results));
    const std::size_t items = 16;
    check(clEnqueueNDRangeKernel(run.queue, run.kernel, 1, nullptr, &items, &items, 0, nullptr, run.done.out()));
    check(clFlush(run.queue));
    return run;
  }
  int call(std::size_t at, const char* name, const std::string& address, int socket = -1, int count = 0) {
    return start(at, name, address, socket, 0, count).result()[0];
  }
  // A connection from one server to a name of the other.
  struct Pair {
    int near, far, listener;
  };
  Pair connect(std::size_t from, std::size_t to, const std::string& name) {
    network(from);
    const int listener = call(to, "bind", name);
    EXPECT_GE(listener, 0);
    const int near = call(from, "join", name);
    EXPECT_GE(near, 0);
    const int far = call(to, "take", name, listener);
    EXPECT_GE(far, 0);
    return {near, far, listener};
  }
  void stop(std::size_t at) {
    check(library_function<decltype(remotecl_stop_network)>("remotecl_stop_network")(networks_[at]));
  }

  decltype(remotecl_create_network)* const create_ =
      library_function<decltype(remotecl_create_network)>("remotecl_create_network");
  Owned<cl_context> context_ = make_context({device(0), device(1), device(2)});
  Owned<cl_program> program_ = build(context_, kNamesSource);
  Owned<cl_command_queue> queues_[3];
  Owned<cl_mem> networks_[3];
};

TEST_F(KernelNamesTest, BytesGoBothWaysAtOnce) {
  constexpr int kCount = 4 << 20;
  const Pair pair = connect(1, 0, "rcl:both");
  const Run one = start(0, "exchange", "", pair.far, 1, kCount), other = start(1, "exchange", "", pair.near, 0, kCount);
  EXPECT_EQ(one.result(), (std::vector<int>{0, 0, 0, kCount}));
  EXPECT_EQ(other.result(), (std::vector<int>{0, 0, 0, kCount}));
}

// One that is cut takes up where it was.
TEST_F(KernelNamesTest, ALinkThatIsCutLosesNothingAndDoublesNothing) {
  constexpr int kCount = 16 << 20;
  const Pair pair = connect(1, 0, "rcl:cut");
  const Run one = start(0, "exchange", "", pair.far, 1, kCount), other = start(1, "exchange", "", pair.near, 0, kCount);
  int cuts = 0;
  // Less and less often: on a slow machine, too, the servers find each other again in between.
  for (auto pause = 1ms; !one.ends_within(pause); pause = std::min(2 * pause, 4000ms)) {
    for (std::size_t i = 0; i < 3; ++i) cuts += Environment::get().relay(i).cut_peers();
  }
  EXPECT_GT(cuts, 0);
  EXPECT_EQ(one.result(), (std::vector<int>{0, 0, 0, kCount}));
  EXPECT_EQ(other.result(), (std::vector<int>{0, 0, 0, kCount}));
}

TEST_F(KernelNamesTest, EitherEndMayEndItsDirectionFirst) {
  constexpr int kCount = 64 * 16384;
  for (const int near_talks : {0, 1}) {
    const Pair pair = connect(0, 1, "rcl:half" + std::to_string(near_talks));
    const Run near = start(0, "talk", "", pair.near, near_talks, kCount),
              far = start(1, "talk", "", pair.far, 1 - near_talks, kCount);
    const Run& talker = near_talks != 0 ? near : far;
    const Run& hearer = near_talks != 0 ? far : near;
    EXPECT_EQ(talker.result(), (std::vector<int>{1000, 0, 16384, 1}));
    EXPECT_EQ(hearer.result(), (std::vector<int>{kCount, 0, 1000, 1}));
  }
}

TEST_F(KernelNamesTest, ANameThatNobodyHasIsRefusedAsOnOneServer) {
  network(0);
  network(1);
  EXPECT_EQ(call(1, "join", "rcl:nobody"), -ECONNREFUSED);
  const int listener = call(0, "bind", "rcl:gone");
  EXPECT_EQ(call(0, "leave", "", listener), 0);
  EXPECT_EQ(call(1, "join", "rcl:gone"), -ECONNREFUSED);
  EXPECT_GE(call(0, "bind", "rcl:full"), 0);
  for (int i = 0; i < 4; ++i) EXPECT_GE(call(1, "join", "rcl:full"), 0);
  EXPECT_EQ(call(1, "join", "rcl:full"), -ECONNREFUSED) << "the backlog is full";
}

TEST_F(KernelNamesTest, TheNearestNameIsTakenThenThatOfTheFirstServer) {
  int listeners[3];
  for (const std::size_t at : {1, 2}) listeners[at] = call(at, "bind", "rcl:same");
  EXPECT_GE(call(0, "join", "rcl:same"), 0);
  EXPECT_GE(call(1, "take", "", listeners[1]), 0);
  EXPECT_GE(call(2, "join", "rcl:same"), 0);
  EXPECT_GE(call(2, "take", "", listeners[2]), 0);
}

TEST_F(KernelNamesTest, TheOtherEndNoticesThatAKernelOrItsNetworkHasGone) {
  const Pair closed = connect(0, 1, "rcl:closed");
  EXPECT_EQ(call(1, "say", "", closed.far, 1000), 1000);
  EXPECT_EQ(call(1, "leave", "", closed.far), 0);
  EXPECT_EQ(call(0, "hear", "", closed.near), 1000) << "what was sent before comes";
  EXPECT_EQ(call(0, "hear", "", closed.near), 0);
  EXPECT_EQ(call(0, "say", "", closed.near, 1), 1) << "taken, and then found to be in vain";
  const Pair stopped = connect(0, 1, "rcl:stopped");
  const Run waits = start(0, "hear", "", stopped.near), there = start(1, "hear", "", stopped.far);
  EXPECT_FALSE(waits.ends_within(300ms));
  stop(1);
  EXPECT_EQ(there.result()[0], -ECANCELED);
  EXPECT_EQ(waits.result()[0], 0);
  EXPECT_EQ(call(0, "join", "rcl:stopped"), -ECONNREFUSED);
}

// Last, because it takes a server.
TEST_F(KernelNamesTest, ZZAKilledServerEndsTheWaits) {
  const Pair pair = connect(0, 2, "rcl:killed");
  const Run waits = start(0, "hear", "", pair.near);
  EXPECT_FALSE(waits.ends_within(300ms));
  Environment::get().relay(2).close();
  Environment::get().daemon(2).kill();
  EXPECT_EQ(waits.result()[0], -ECONNRESET);
  EXPECT_LT(call(0, "say", "", pair.near, 1), 0);
  const int refused = call(0, "join", "rcl:killed");
  EXPECT_TRUE(refused == -ECONNREFUSED || refused == -EHOSTUNREACH) << refused;
  const int listener = call(0, "bind", "rcl:left");
  EXPECT_GE(call(1, "join", "rcl:left"), 0) << "the others go on";
  EXPECT_GE(call(0, "take", "", listener), 0);
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 1);  // losses are meant
  ::setenv("REMOTECL_RECONNECT", "10", 1);
  ::testing::InitGoogleTest(&argc, argv);
  const remotecl::testing::FaultRelay::Faults faults{1, std::chrono::microseconds(100)};
  ::testing::AddGlobalTestEnvironment(remotecl::testing::Environment::with_options(3, {"--kernel-sockets"}, &faults));
  return RUN_ALL_TESTS();
}
