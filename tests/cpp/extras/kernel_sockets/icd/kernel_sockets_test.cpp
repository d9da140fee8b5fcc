// Sockets inside kernels, from a client's call to a program at the other end of a socket.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr char kNetSource[] = R"(
#include "remotecl/net.cl"
// Kernels get the port as text: "tcp:127.0.0.1:" and five digits.
kernel void echo(global rcl_net* net, global const char* address, global uchar* scratch, global int* result) {
  RCL_GROUP(g, net);
  int listener = rcl_bind(g, address);
  int s = listener < 0 ? listener : rcl_accept(g, listener), n = s;
  while (n >= 0 && (n = rcl_recv(g, s, scratch, 4096)) > 0) n = rcl_send_all(g, s, scratch, n);
  if (s >= 0) rcl_close(g, s);
  if (get_local_id(0) == 0) *result = n;
}
kernel void reach(global rcl_net* net, global const char* address, global int* result) {
  RCL_GROUP(g, net);
  int s = rcl_connect(g, address);
  if (get_local_id(0) == 0) *result = s < 0 ? s : 0;
  if (s >= 0) rcl_close(g, s);
}
kernel void look(global const rcl_net* net, global int* result) { *result = net != 0; }
)";

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

// A program's connection to a kernel, which may not listen yet. -1: it does not.
int connect_to(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const auto end = Clock::now() + 60s; Clock::now() < end; std::this_thread::sleep_for(1ms)) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval patience{60, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
    ::close(socket);
  }
  return -1;
}

class KernelSocketsTest : public ::testing::Test {
 protected:
  static cl_device_id device(std::size_t index = 0) { return Environment::get().devices().at(index); }

  Owned<cl_mem> network(const remotecl_network_properties* properties = nullptr, cl_int expected = CL_SUCCESS) {
    cl_int error = 1;
    Owned<cl_mem> made(create_(context_, device(), properties, &error));
    EXPECT_EQ(error, expected);
    EXPECT_EQ(made.get() == nullptr, expected != CL_SUCCESS);
    return made;
  }
  cl_program program() {
    if (program_ == nullptr) program_ = build(context_, kNetSource);
    return program_;
  }
  Owned<cl_mem> text(const std::string& text) {
    return make_buffer(context_, std::vector<char>(text.c_str(), text.c_str() + text.size() + 1), CL_MEM_READ_ONLY);
  }
  // Enqueues an echo server for one connection.
  Owned<cl_event> start_echo(cl_mem network, int port) {
    echo_ = make_kernel(program(), "echo");
    address_ = text("tcp:127.0.0.1:" + std::to_string(port));
    scratch_ = make_buffer(context_, 4096);
    result_ = make_buffer(context_, std::vector<int>{1});
    check(clSetKernelArg(echo_, 0, sizeof network, &network));
    check(set_arg(echo_, 1, address_));
    check(set_arg(echo_, 2, scratch_));
    check(set_arg(echo_, 3, result_));
    return start(echo_);
  }
  Owned<cl_event> start(cl_kernel kernel, std::size_t items = 16) {
    Owned<cl_event> done;
    check(clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &items, &items, 0, nullptr, done.out()));
    check(clFlush(queue_));
    return done;
  }
  int result() { return read<int>(queue_, result_, 1)[0]; }
  // The result of a kernel that tries to connect there.
  int reach(cl_mem network, const std::string& address) {
    const Owned<cl_kernel> kernel = make_kernel(program(), "reach");
    const Owned<cl_mem> where = text(address);
    result_ = make_buffer(context_, std::vector<int>{1});
    check(clSetKernelArg(kernel, 0, sizeof network, &network));
    check(set_arg(kernel, 1, where));
    check(set_arg(kernel, 2, result_));
    start(kernel);
    return result();
  }
  // Whether the command ends in this time.
  static bool ends_within(cl_event event, std::chrono::milliseconds time) {
    for (const auto end = Clock::now() + time; Clock::now() < end; std::this_thread::sleep_for(1ms)) {
      if (value<cl_int>(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS) <= CL_COMPLETE) return true;
    }
    return false;
  }

  decltype(remotecl_create_network)* const create_ =
      library_function<decltype(remotecl_create_network)>("remotecl_create_network");
  decltype(remotecl_stop_network)* const stop_ =
      library_function<decltype(remotecl_stop_network)>("remotecl_stop_network");
  Owned<cl_context> context_ = make_context({device(0), device(1)});
  Owned<cl_command_queue> queue_ = make_queue(context_, device(0));
  Owned<cl_command_queue> other_ = make_queue(context_, device(1));
  Owned<cl_program> program_;
  Owned<cl_kernel> echo_;
  Owned<cl_mem> address_, scratch_, result_;
};

TEST_F(KernelSocketsTest, AKernelAnswersAProgram) {
  const Owned<cl_mem> net = network();
  const int port = free_port();
  const Owned<cl_event> done = start_echo(net, port);
  const int socket = connect_to(port);
  ASSERT_GE(socket, 0) << "the kernel does not listen";
  std::string sent;
  for (int i = 0; i < 10'000; ++i) sent += static_cast<char>('a' + i % 23);
  std::thread writer([&] {
    ::send(socket, sent.data(), sent.size(), MSG_NOSIGNAL);
    ::shutdown(socket, SHUT_WR);
  });
  std::string received;
  char piece[4096];
  for (ssize_t count = 0; (count = ::recv(socket, piece, sizeof piece, 0)) > 0;) {
    received.append(piece, static_cast<std::size_t>(count));
  }
  writer.join();
  ::close(socket);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_SUCCESS);
  EXPECT_EQ(result(), 0);
}

TEST_F(KernelSocketsTest, WhatTheOperatorDoesNotAllowIsRefused) {
  const Owned<cl_mem> net = network();
  EXPECT_EQ(reach(net, "tcp:192.0.2.1:80"), -EACCES);
  EXPECT_EQ(reach(net, "tcp:[::1]:80"), -EACCES) << "IPv4 loopback alone is named";
  EXPECT_EQ(reach(net, "tcp:localhost:1"), -ECONNREFUSED);
  EXPECT_EQ(reach(net, "tcp:127.0.0.1:1"), -ECONNREFUSED) << "allowed, but nobody listens";
  EXPECT_EQ(reach(net, "unix:/run/x.sock"), -EACCES);
  EXPECT_LT(reach(net, "nonsense"), 0);
}

TEST_F(KernelSocketsTest, StoppingEndsTheWaitsOfAKernel) {
  const Owned<cl_mem> net = network();
  const Owned<cl_event> done = start_echo(net, free_port());
  EXPECT_FALSE(ends_within(done, 300ms)) << "it should wait for a connection";
  const auto begin = Clock::now();
  check(stop_(net));
  EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_SUCCESS);
  EXPECT_LT(Clock::now() - begin, 1s);
  EXPECT_EQ(result(), -ECANCELED);
  EXPECT_EQ(reach(net, "tcp:127.0.0.1:1"), -ECANCELED) << "for good";
  EXPECT_EQ(reach(network(), "tcp:127.0.0.1:1"), -ECONNREFUSED) << "but not for other networks";
}

TEST_F(KernelSocketsTest, AReleasedNetworkServesTheKernelThatHasIt) {
  Owned<cl_mem> net = network();
  const int port = free_port();
  const Owned<cl_event> done = start_echo(net, port);
  net.reset();
  check(clFlush(queue_));
  const int socket = connect_to(port);
  ASSERT_GE(socket, 0);
  char answer[3] = {};
  EXPECT_EQ(::send(socket, "abc", 3, 0), 3);
  EXPECT_EQ(::recv(socket, answer, 3, MSG_WAITALL), 3);
  EXPECT_EQ(std::string(answer, 3), "abc");
  ::close(socket);
  EXPECT_EQ(clWaitForEvents(1, done.pointer()), CL_SUCCESS);
}

TEST_F(KernelSocketsTest, NoOtherCommandUsesANetwork) {
  const Owned<cl_mem> net = network();
  int word = 0;
  const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(16, 0));
  EXPECT_EQ(clEnqueueReadBuffer(queue_, net, CL_TRUE, 0, 4, &word, 0, nullptr, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(clEnqueueWriteBuffer(queue_, net, CL_TRUE, 0, 4, &word, 0, nullptr, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(clEnqueueCopyBuffer(queue_, net, buffer, 0, 0, 4, 0, nullptr, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(clEnqueueCopyBuffer(queue_, buffer, net, 0, 0, 4, 0, nullptr, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(clEnqueueFillBuffer(queue_, net, &word, 4, 0, 4, 0, nullptr, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(clEnqueueMigrateMemObjects(other_, 1, net.pointer(), 0, 0, nullptr, nullptr), CL_INVALID_OPERATION);
  cl_int error = CL_SUCCESS;
  clEnqueueMapBuffer(queue_, net, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 4, 0, nullptr, nullptr, &error);
  EXPECT_EQ(error, CL_INVALID_OPERATION);
  const cl_buffer_region part{0, 4096};
  clCreateSubBuffer(net, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &error);
  EXPECT_EQ(error, CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(stop_(buffer), CL_INVALID_MEM_OBJECT);
  EXPECT_GE(value<std::size_t>(clGetMemObjectInfo, net.get(), CL_MEM_SIZE), 64u << 20);
}

TEST_F(KernelSocketsTest, ANetworkIsOnItsDeviceOnly) {
  const Owned<cl_mem> net = network();
  const Owned<cl_kernel> kernel = make_kernel(program(), "look");
  const Owned<cl_mem> seen = make_buffer(context_, std::vector<int>{0});
  check(set_arg(kernel, 0, net));
  check(set_arg(kernel, 1, seen));
  EXPECT_EQ(run(other_, kernel, 1), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(run(queue_, kernel, 1), CL_SUCCESS);
  EXPECT_EQ(read<int>(queue_, seen, 1)[0], 1);
}

TEST_F(KernelSocketsTest, WrongCreationsNameTheirError) {
  const auto with = [](cl_uint sockets, cl_uint ring) {
    return remotecl_network_properties{sizeof(remotecl_network_properties), sockets, ring};
  };
  for (const auto& wrong :
       {with(16385, 1024), with(1, 1000), with(1, 512), with(1, 32u << 20), with(16384, 16u << 20), with(~0u, ~0u)}) {
    network(&wrong, CL_INVALID_VALUE);
  }
  const remotecl_network_properties old{1, 1, 1024};
  network(&old, CL_INVALID_VALUE);
  const auto small = with(1, 1024);
  network(&small);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(create_(nullptr, device(), nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_CONTEXT);
  const Owned<cl_context> one = make_context({device(1)});
  EXPECT_EQ(create_(one, device(0), nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_DEVICE);
}

TEST_F(KernelSocketsTest, DevicesSayWhatTheyCan) {
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, device(), CL_DEVICE_REMOTECL_KERNEL_SOCKETS), CL_TRUE);
  std::size_t groups = 0;
  const auto ask = library_function<decltype(remotecl_network_groups)>("remotecl_network_groups");
  EXPECT_EQ(ask(device(), &groups), CL_SUCCESS);
  EXPECT_EQ(groups, value<cl_uint>(clGetDeviceInfo, device(), CL_DEVICE_MAX_COMPUTE_UNITS));
  EXPECT_EQ(clGetExtensionFunctionAddressForPlatform(Environment::get().remote_platform(), "remotecl_create_network"),
            reinterpret_cast<void*>(create_));
}

// The user's lines keep their numbers, and a header may include the library, too.
TEST_F(KernelSocketsTest, TheLibraryIsAHeaderLikeOthers) {
  const Owned<cl_program> wrong = make_program(context_, "#include \"remotecl/net.cl\"\n\nkernel void k() { oops; }\n");
  EXPECT_EQ(clBuildProgram(wrong, 0, nullptr, nullptr, nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
  const std::string log = testing::text(clGetProgramBuildInfo, wrong.get(), device(), CL_PROGRAM_BUILD_LOG);
  EXPECT_NE(log.find(":3:"), std::string::npos) << log;
  const std::string source = testing::text(clGetProgramInfo, program(), CL_PROGRAM_SOURCE);
  EXPECT_EQ(source, kNetSource);
  // Compiled as a header of another program, in the other spelling.
  const Owned<cl_program> header = make_program(context_, "#include <remotecl/net.cl>\n");
  const Owned<cl_program> user =
      make_program(context_, "#include \"own.h\"\nkernel void k(global rcl_net* net) { RCL_GROUP(g, net); }\n");
  const char* name = "own.h";
  check(clCompileProgram(user, 0, nullptr, nullptr, 1, header.pointer(), &name, nullptr, nullptr));
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> linked(
      clLinkProgram(context_, 0, nullptr, nullptr, 1, user.pointer(), nullptr, nullptr, &error));
  EXPECT_EQ(error, CL_SUCCESS);
}

// Last, because it takes the session of the first server.
TEST_F(KernelSocketsTest, ZZAKickedSessionFreesTheDevice) {
  const Owned<cl_mem> net = network();
  const Owned<cl_event> done = start_echo(net, free_port());
  EXPECT_FALSE(ends_within(done, 300ms));
  const std::string address = Environment::get().daemon(0).address();
  remotecl_monitor* const monitor =
      library_function<decltype(remotecl_monitor_open)>("remotecl_monitor_open")(address.c_str(), nullptr);
  ASSERT_NE(monitor, nullptr);
  const auto ask = [&] {
    char* const answer =
        library_function<decltype(remotecl_monitor_status_json)>("remotecl_monitor_status_json")(monitor, nullptr);
    const auto status = nlohmann::json::parse(answer);
    std::free(answer);
    return status;
  };
  const std::string id = ask()["sessions"][0]["session"];
  const auto begin = Clock::now();
  char* const kicked = library_function<decltype(remotecl_monitor_kick)>("remotecl_monitor_kick")(
      monitor, std::stoull(id, nullptr, 16), nullptr);
  EXPECT_EQ(nlohmann::json::parse(kicked)["result"], "ended");
  std::free(kicked);
  EXPECT_LT(Clock::now() - begin, 1s);
  const auto status = ask();
  EXPECT_EQ(status["session_count"], 0);
  EXPECT_EQ(status["devices"][0]["memory_used"], 0);
  EXPECT_EQ(status["devices"][0]["queue_depth"], 0);
  library_function<decltype(remotecl_monitor_close)>("remotecl_monitor_close")(monitor);
  EXPECT_TRUE(ends_within(done, 1s)) << "in order, or with the session";
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 1);  // refusals are meant
  ::testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> options = {"--kernel-sockets", "--limit",
                                            "default.kernel-connect=[\"127.0.0.1:*\", \"localhost:1\"]", "--limit",
                                            "default.kernel-bind=[\"127.0.0.1:*\"]"};
  ::testing::AddGlobalTestEnvironment(remotecl::testing::Environment::with_options(2, options));
  return RUN_ALL_TESTS();
}
