#include "startup_probe.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "pattern.h"

extern char** environ;

namespace remotecl::bench {
namespace {

std::vector<std::string> g_environment;

// The process image of a client as posix_spawn wants it.
class Client {
 public:
  // `extra`: an argument, or empty.
  Client(const DeviceChoice& choice, bool sees_servers, const std::string& extra) {
    arguments_ = {"remotecl-bench", "--probe-platform", choice.platform_name, "--probe-device",
                  std::to_string(choice.index)};
    if (!extra.empty()) arguments_.push_back(extra);
    for (std::string& argument : arguments_) argv_.push_back(argument.data());
    argv_.push_back(nullptr);
    constexpr char kServers[] = "REMOTECL_SERVERS=";
    for (std::string& entry : g_environment) {
      if (!sees_servers && entry.starts_with(kServers)) continue;
      envp_.push_back(entry.data());
    }
    envp_.push_back(nullptr);
  }

  pid_t start(int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv_.data(), envp_.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start a client");
    return pid;
  }

 private:
  std::vector<std::string> arguments_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

std::string read_to_end(int descriptor) {
  std::string text;
  char buffer[256];
  for (;;) {
    const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return status;
}

}  // namespace

void remember_environment() {
  for (char** entry = environ; *entry; ++entry) g_environment.emplace_back(*entry);
}

int run_startup_probe(const Options& options, const Stopwatch& since_main) try {
  const ClSide side(find_device(options.probe_platform, options.probe_device));
  const Memory in = side.make_buffer(sizeof(cl_int));
  const Memory out = side.make_buffer(sizeof(cl_int));
  const cl_int sent = 4711;
  ClSide::write(side.queue(), in, &sent, sizeof sent);
  cl_mem arguments[] = {in.get(), out.get()};
  check(clSetKernelArg(side.passthrough(), 0, sizeof(cl_mem), &arguments[0]), "clSetKernelArg");
  check(clSetKernelArg(side.passthrough(), 1, sizeof(cl_mem), &arguments[1]), "clSetKernelArg");
  ClSide::enqueue(side.queue(), side.passthrough());
  ClSide::finish(side.queue());
  const double seconds = since_main.seconds();
  cl_int received = 0;
  ClSide::read(side.queue(), out, &received, sizeof received);
  if (received != sent) throw DataError("first kernel: wrong data");
  std::printf("%.9f\n", seconds);
  std::fflush(stdout);
  if (options.probe_dies) kill(getpid(), SIGKILL);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "remotecl-bench: start-up client: %s\n", error.what());
  return 1;
}

int run_streaming_probe(const Options& options) try {
  constexpr size_t kSize = 64u << 20;
  const ClSide side(find_device(options.probe_platform, options.probe_device));
  const Memory buffer = side.make_buffer(kSize);
  const std::vector<char> source(kSize, 1);
  for (bool is_first = true;; is_first = false) {
    ClSide::write(side.queue(), buffer, source.data(), kSize);
    ClSide::finish(side.queue());
    if (!is_first) continue;
    std::puts("streams");
    std::fflush(stdout);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "remotecl-bench: streaming client: %s\n", error.what());
  return 1;
}

int run_flooding_probe(const Options& options) try {
  constexpr int kPerFlush = 64;
  const ClSide side(find_device(options.probe_platform, options.probe_device));
  ClSide::enqueue(side.queue(), side.no_op());
  ClSide::finish(side.queue());
  std::puts("floods");
  std::fflush(stdout);
  for (;;) {
    for (int i = 0; i < kPerFlush; ++i) ClSide::enqueue(side.queue(), side.no_op());
    check(clFlush(side.queue()), "clFlush");
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "remotecl-bench: flooding client: %s\n", error.what());
  return 1;
}

Neighbour::Neighbour(const DeviceChoice& choice, Kind kind) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  pid_ = Client(choice, true, kind == Kind::kStreams ? "--probe-streams" : "--probe-floods").start(ends[1]);
  close(ends[1]);
  char word = 0;
  const bool is_there = ::read(ends[0], &word, 1) == 1;
  close(ends[0]);
  if (is_there) return;
  wait_for(pid_);
  throw std::runtime_error("a neighbouring client of " + choice.platform_name + " failed");
}

Neighbour::~Neighbour() {
  kill(pid_, SIGKILL);
  wait_for(pid_);
}

double start_client(const DeviceChoice& choice, bool sees_servers, Ending ending) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  pid_t pid = -1;
  try {
    pid = Client(choice, sees_servers, ending == Ending::kKilled ? "--probe-dies" : "").start(ends[1]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  const std::string text = read_to_end(ends[0]);
  close(ends[0]);
  const int status = wait_for(pid);
  const bool ended_right = ending == Ending::kClean ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                                                    : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  char* parsed = nullptr;
  const double seconds = std::strtod(text.c_str(), &parsed);
  if (!ended_right || parsed == text.c_str()) {
    throw std::runtime_error("a start-up client of " + choice.platform_name + " failed");
  }
  return seconds;
}

}  // namespace remotecl::bench
