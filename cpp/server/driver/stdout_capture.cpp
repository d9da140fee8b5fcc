#include "server/driver/stdout_capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <thread>

#include "server/util/descriptor.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// Passes on what comes out of the pipe until `done` is signalled and the pipe is empty. It cannot wait for
// the end of the pipe: a compiler that another session has started meanwhile may hold the writing end.
void pass_on(int pipe, int done, const StdoutCapture::Sink& sink) {
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

// Begins when all earlier ones have ended, and lasts until it is destroyed.
class StdoutCapture::Turn {
 public:
  explicit Turn(StdoutCapture& capture) : capture_(capture) {
    MutexLock lock(capture_.mutex_);
    const std::uint64_t turn = capture_.came_++;
    while (capture_.done_ != turn) capture_.next_.wait(capture_.mutex_);
  }
  ~Turn() {
    MutexLock lock(capture_.mutex_);
    ++capture_.done_;
    capture_.next_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  StdoutCapture& capture_;
};

void StdoutCapture::run(const std::function<void()>& work, const Sink& sink) {
  const Turn turn(*this);
  capture(work, sink);
}

bool StdoutCapture::is_awaited() const {
  MutexLock lock(mutex_);
  return came_ - done_ > 1;
}

void StdoutCapture::capture(const std::function<void()>& work, const Sink& sink) {
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
  std::thread reader([&] { pass_on(out.get(), done.get(), sink); });
  ::dup2(in.get(), STDOUT_FILENO);
  in.close();
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  std::fflush(stdout);
  ::dup2(real.get(), STDOUT_FILENO);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(done.get(), &one, sizeof one);
  reader.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace remotecl::server
