#include "support/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace remotecl::testing {
namespace {

using Clock = std::chrono::steady_clock;

// As this process was started: tests change OCL_ICD_VENDORS for themselves.
std::vector<std::string> copy_environment() {
  std::vector<std::string> copy;
  for (char** entry = environ; *entry != nullptr; ++entry) copy.emplace_back(*entry);
  return copy;
}
const std::vector<std::string> g_environment = copy_environment();

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

int milliseconds_until(ChildProcess::Deadline deadline) {
  if (deadline == ChildProcess::kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> arguments, const std::vector<std::string>& environment) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  // The first entry of a name is the one that counts.
  std::vector<std::string> entries = environment;
  entries.insert(entries.end(), g_environment.begin(), g_environment.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&id_, arguments.at(0).c_str(), &actions, nullptr, pointers(arguments).data(),
                                  pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  output_end_ = out[0];
  if (error != 0) throw std::runtime_error("cannot start " + arguments[0]);
}

ChildProcess::~ChildProcess() {
  end(SIGKILL);
  close_input();
  ::close(output_end_);
}

void ChildProcess::close_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

bool ChildProcess::running() { return id_ > 0 && !reap(WNOHANG); }

bool ChildProcess::reap(int options) {
  if (::waitpid(id_, &status_, options) != id_) return false;
  id_ = -1;
  return true;
}

void ChildProcess::signal(int signal) const {
  if (id_ > 0) ::kill(id_, signal);
}

void ChildProcess::end(int signal_number) {
  if (id_ <= 0) return;
  signal(signal_number);
  reap(0);
}

bool ChildProcess::read_more(Deadline deadline) {
  pollfd wait{output_end_, POLLIN, 0};
  if (::poll(&wait, 1, milliseconds_until(deadline)) <= 0) return false;
  char bytes[4096];
  const ssize_t count = ::read(output_end_, bytes, sizeof bytes);
  if (count > 0) output_.append(bytes, static_cast<std::size_t>(count));
  return count > 0;
}

std::string ChildProcess::said(std::string_view begin, Deadline deadline) {
  for (;;) {
    const std::size_t at = output_.find(begin);
    const std::size_t line_end = at == std::string::npos ? at : output_.find('\n', at);
    if (line_end != std::string::npos) return output_.substr(at + begin.size(), line_end - at - begin.size());
    if (!read_more(deadline)) throw std::runtime_error("it does not say \"" + std::string(begin) + "\": " + output_);
  }
}

int ChildProcess::wait(Deadline deadline) {
  while (read_more(deadline)) {
  }
  while (running()) {
    if (Clock::now() >= deadline) return kRunning;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

}  // namespace remotecl::testing
