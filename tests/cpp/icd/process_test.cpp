// Processes that fork, and processes that end in the middle of things.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

// The exit status of a child, or -1 when it does not end in time or a signal ends it.
int end_of(pid_t child) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(1ms);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Runs `body` in a forked child, whose exit status is what it returns.
struct Forked {
  int status;
  std::string errors;
};
Forked fork_off(const std::function<int()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(body());
  }
  ::close(ends[1]);
  std::string errors;
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    errors.append(bytes, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  return {end_of(child), errors};
}

class ForkTest : public RemoteTest {};

TEST_F(ForkTest, CallsOfTheChildFailAndSayWhyOnce) {
  const Owned<cl_mem> buffer = make_buffer(context_, numbers(16));
  const Owned<cl_kernel> add = kernel("add");
  const Forked child = fork_off([&] {
    int data = 0;
    if (clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, 4, &data, 0, nullptr, nullptr) != CL_DEVICE_NOT_AVAILABLE)
      return 1;
    if (clFinish(queue_) != CL_DEVICE_NOT_AVAILABLE) return 2;
    if (set_arg(add, 1, 1) != CL_DEVICE_NOT_AVAILABLE) return 3;
    cl_int error = CL_SUCCESS;
    if (clCreateBuffer(context_, 0, 4, nullptr, &error) != nullptr || error != CL_DEVICE_NOT_AVAILABLE) return 4;
    return clReleaseMemObject(buffer) == CL_SUCCESS ? 0 : 5;
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_NE(child.errors.find("forked off"), std::string::npos) << child.errors;
  EXPECT_EQ(std::count(child.errors.begin(), child.errors.end(), '\n'), 1) << child.errors;
}

TEST_F(ForkTest, ParentIsNotDisturbed) {
  const Owned<cl_mem> buffer = make_buffer(context_, numbers(1 << 20));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  for (int round = 1; round <= 5; ++round) {
    check(run(round % 2 == 0 ? queue_ : other_, add, 1 << 20));
    const Forked child = fork_off([&] {
      clFlush(queue_);
      clFinish(other_);
      std::vector<int> host(1 << 20);
      return clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, host.size() * 4, host.data(), 0, nullptr, nullptr) < 0 ? 0
                                                                                                                    : 1;
    });
    ASSERT_EQ(child.status, 0);
    ASSERT_TRUE(read<int>(queue_, buffer, 1 << 20) == numbers(1 << 20, round));
  }
}

TEST_F(ForkTest, ChildThatCallsNothingSaysNothing) {
  const Forked child = fork_off([] { return 0; });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.errors, "");
}

TEST_F(ForkTest, ChildHoldsNoConnectionOpen) {
  const Forked child = fork_off([] {
    int sockets = 0;
    for (int descriptor = 3; descriptor < 256; ++descriptor) {
      char target[64] = {};
      const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
      if (::readlink(link.c_str(), target, sizeof target - 1) > 0 && std::string(target).starts_with("socket:"))
        ++sockets;
    }
    return sockets;
  });
  EXPECT_EQ(child.status, 0);
}

class ExitTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ExitTest, WithWorkInFlight) {
  for (int round = 0; round < 3; ++round) {
    pid_t child = 0;
    std::string program = REMOTECL_EXIT_PROGRAM, how = GetParam();
    char* arguments[] = {program.data(), how.data(), nullptr};
    ASSERT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    EXPECT_EQ(end_of(child), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ExitTest, ::testing::Values("return", "exit", "quick", "unflushed", "waiting"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace remotecl::testing
