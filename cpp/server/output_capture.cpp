#include "server/output_capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "server/descriptor.h"
#include "server/log.h"

namespace remotecl::server {
namespace {

// Passes on what comes out of the pipe, until `done` is signalled and the pipe is empty. Its end is not waited for: a
// compiler that another session has started meanwhile holds the other end too.
void pass_on(int pipe, int done, const OutputCapture::Sink& sink) {
  std::array<char, 64u << 10> bytes;
  pollfd waits[2] = {{pipe, POLLIN, 0}, {done, POLLIN, 0}};
  for (bool ending = false;;) {
    if (!ending && ::poll(waits, 2, -1) < 0) continue;
    ending = ending || waits[1].revents != 0;
    for (ssize_t count = 0; (count = ::read(pipe, bytes.data(), bytes.size())) > 0;) {
      sink({bytes.data(), static_cast<std::size_t>(count)});
    }
    if (ending) return;
  }
}

}  // namespace

void OutputCapture::run(const std::function<void()>& work, const Sink& sink) {
  MutexLock lock(mutex_);
  std::fflush(stdout);
  int ends[2] = {-1, -1};
  const bool piped = ::pipe2(ends, O_CLOEXEC) == 0;
  const Descriptor out(ends[0]);
  Descriptor in(ends[1]);
  const Descriptor done(::eventfd(0, EFD_CLOEXEC));
  const Descriptor real(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!piped || !done.valid() || !real.valid()) {
    log_error("what a kernel prints cannot be sent to its client: no file descriptor is left");
    return work();
  }
  ::fcntl(out.get(), F_SETFL, O_NONBLOCK);
  ::dup2(in.get(), STDOUT_FILENO);
  in.close();
  std::thread reader([&] { pass_on(out.get(), done.get(), sink); });
  work();
  std::fflush(stdout);
  ::dup2(real.get(), STDOUT_FILENO);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(done.get(), &one, sizeof one);
  reader.join();
}

bool mentions_printf(std::string_view code) {
  // PoCL's binaries have these names in them whatever their kernels do.
  constexpr std::string_view kAlwaysAfter = "printf_buffer";
  constexpr std::string_view kAlwaysBefore = "__const.__pocl_";
  for (std::size_t at = code.find("printf"); at != std::string_view::npos; at = code.find("printf", at + 1)) {
    if (!code.substr(at).starts_with(kAlwaysAfter) && !code.substr(0, at).ends_with(kAlwaysBefore)) return true;
  }
  return false;
}

}  // namespace remotecl::server
