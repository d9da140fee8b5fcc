#include "support/daemon.h"

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace remotecl::testing {
namespace {

std::vector<std::string> command_line(const std::string& listen, const std::vector<std::string>& options) {
  std::vector<std::string> arguments{REMOTECL_SERVER_PROGRAM, "--listen", listen, "--exit-on-stdin-eof"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  if (std::getenv("REMOTECL_TEST_ISOLATE") != nullptr) arguments.push_back("--isolate");
  if (const char* const rdma = std::getenv("REMOTECL_TEST_RDMA_AT")) {
    arguments.insert(arguments.end(), {"--rdma", rdma});
  }
  return arguments;
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

Daemon::Daemon(const std::vector<std::string>& environment, const std::vector<std::string>& options,
               const std::string& listen)
    : process_(command_line(listen, options), environment) {}

const std::string& Daemon::address() {
  if (address_.empty()) address_ = process_.said("listening on ");
  return address_;
}

Daemon::~Daemon() {
  if (told_to_end_ || process_.running()) return;
  if (const int status = process_.status(); status != 0) {
    std::fprintf(stderr, "the daemon at %s ended by itself: %s %d\n", address_.c_str(),
                 WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
}

void Daemon::signal(int signal) {
  if (signal != SIGSTOP && signal != SIGCONT) told_to_end_ = true;
  process_.signal(signal);
}

void Daemon::kill() {
  told_to_end_ = true;
  process_.end(SIGKILL);
}

void Daemon::stop() {
  told_to_end_ = true;
  process_.end(SIGTERM);
}

}  // namespace remotecl::testing
