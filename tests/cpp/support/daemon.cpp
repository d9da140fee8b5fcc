#include "support/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace remotecl::testing {
namespace {

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

}  // namespace

std::string Daemon::make_certificate(const std::string& folder) {
  const std::string command = std::string(REMOTECL_SERVER_PROGRAM) + " --make-certificate '" + folder +
                              "/certificate.pem' '" + folder + "/key.pem'";
  FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  char text[512] = {};
  const std::size_t size = std::fread(text, 1, sizeof text - 1, pipe);
  ::pclose(pipe);
  const std::string said(text, size);
  const std::size_t at = said.find("sha256:");
  if (at == std::string::npos) throw std::runtime_error("no pin in: " + said);
  return said.substr(at, said.find_first_of(" \n", at) - at);
}

Daemon::Daemon(const std::vector<std::string>& environment, const std::vector<std::string>& options) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  std::vector<std::string> arguments{REMOTECL_SERVER_PROGRAM, "--listen", "127.0.0.1:0", "--exit-on-stdin-eof"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  if (std::getenv("REMOTECL_TEST_ISOLATE") != nullptr) arguments.push_back("--isolate");
  // The first entry of a name is the one that counts.
  std::vector<std::string> entries = environment;
  entries.insert(entries.end(), g_environment.begin(), g_environment.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&process_, arguments[0].c_str(), &actions, nullptr, pointers(arguments).data(),
                                  pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  stdin_ = in[1];
  stdout_ = out[0];
  if (error != 0) throw std::runtime_error("cannot start " + arguments[0]);
}

Daemon::~Daemon() {
  end(SIGKILL);
  ::close(stdin_);
  ::close(stdout_);
}

const std::string& Daemon::address() {
  constexpr std::string_view kBefore = "listening on ";
  while (address_.empty()) {
    const std::size_t at = output_.find(kBefore);
    const std::size_t line_end = at == std::string::npos ? at : output_.find('\n', at);
    if (line_end != std::string::npos) {
      address_ = output_.substr(at + kBefore.size(), line_end - at - kBefore.size());
      break;
    }
    char bytes[512];
    const ssize_t count = ::read(stdout_, bytes, sizeof bytes);
    if (count <= 0) throw std::runtime_error("the daemon ended before it listened: " + output_);
    output_.append(bytes, static_cast<std::size_t>(count));
  }
  return address_;
}

bool Daemon::running() {
  if (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) == process_) process_ = -1;
  return process_ > 0;
}

void Daemon::kill() { end(SIGKILL); }
void Daemon::stop() { end(SIGTERM); }

void Daemon::end(int signal) {
  if (process_ <= 0) return;
  ::kill(process_, signal);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace remotecl::testing
