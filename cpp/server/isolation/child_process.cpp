#include "server/isolation/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "runtime/base/argument_pointers.h"
#include "server/isolation/session_environment.h"
#include "server/util/format.h"

namespace remotecl::server {
namespace {

// Signals sent to the daemon's whole process group; only the daemon acts on them.
sigset_t blocked_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal != 0) return format_text("was ended by signal {} ({})", signal, ::strsignal(signal));
  return format_text("ended by itself with exit code {}", exit_code);
}

ChildProcess::ChildProcess(const ProcessCommand& command, std::pair<SessionChannel, SessionChannel> ends)
    : channel_(std::move(ends.first)) {
  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.end(), {"--session-folder", folder_.path()});
  std::vector<std::string> environment = session_environment(folder_.path());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, words_.end_of_process(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends.second.descriptor(), kChannelDescriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const sigset_t blocked = blocked_signals();
  posix_spawnattr_setsigmask(&attributes, &blocked);
  // Starts in a process group of its own, which it cannot leave: see filter_system_calls().
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawn(&id_, command.program.c_str(), &files, &attributes, pointers_to(arguments).data(),
                                  pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    throw std::system_error(error, std::system_category(), "cannot start " + command.program);
  }
  words_.has_started(id_);
  group_.take(id_);
}

bool ChildProcess::await_packet(int other, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waits[3] = {{channel_.descriptor(), POLLIN, 0}, {other, POLLIN, 0}, {words_.handle(), POLLIN, 0}};
    const int found = ::poll(waits, 3, static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
    if (found == 0 && std::chrono::steady_clock::now() >= deadline) return false;
    if (found <= 0) continue;
    if (waits[2].revents != 0) words_.take();
    if (waits[0].revents != 0) return true;
    if (waits[1].revents != 0) return false;
  }
}

void ChildProcess::kill() {
  MutexLock lock(mutex_);
  if (!end_) ::kill(id_, SIGKILL);
}

ProcessEnd ChildProcess::end() {
  {
    MutexLock lock(mutex_);
    if (end_) return *end_;
    ::kill(id_, SIGKILL);  // if it is already ending for another reason, that reason stands
  }
  siginfo_t info{};
  // Waits without reaping it, because until then no other process or group can have its id.
  while (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  ::kill(-id_, SIGKILL);
  group_.kill();
  MutexLock lock(mutex_);
  while (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  words_.finish();
  end_ = info.si_code == CLD_EXITED ? ProcessEnd{0, info.si_status} : ProcessEnd{info.si_status, 0};
  return *end_;
}

}  // namespace remotecl::server
