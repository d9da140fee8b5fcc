#include "runtime/client/support/fork_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "runtime/client/support/stderr_notice.h"
#include "runtime/handshake/dialer.h"

namespace remotecl {
namespace {

// Up to 19 for each of 64 servers, and as many again while they are being replaced. It is read between the
// fork and the child's first instruction of its own, where no lock may be taken.
constexpr int kDescriptorsMax = 2432;
constexpr int kNone = 0;  // connections have higher numbers than the standard streams
std::array<std::atomic<int>, kDescriptorsMax> g_descriptors{};
std::atomic<bool> g_said{false};

void after_fork_in_child() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (auto& descriptor : g_descriptors) {
    const int number = descriptor.exchange(kNone);
    if (number == kNone) continue;
    g_is_forked_child = true;
    // The descriptor's number stays in use: no other file may get it while our objects still refer to it.
    if (nothing >= 0) ::dup3(nothing, number, O_CLOEXEC);
  }
  if (nothing >= 0) ::close(nothing);
}

}  // namespace

const char* forked_text() {
  return "this process was forked off one that uses remotecl, and cannot use its parent's connections; fork before the "
         "first OpenCL call, or start the child as a new program (in Python: multiprocessing with \"spawn\")";
}

void say_forked() {
  if (!g_said.exchange(true)) notice(forked_text());
}

void give_up_in_child(int descriptor) {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  for (auto& slot : g_descriptors) {
    int none = kNone;
    if (slot.compare_exchange_strong(none, descriptor)) return;
  }
}

void forget_in_child(int descriptor) {
  for (auto& slot : g_descriptors) {
    int number = descriptor;
    if (slot.compare_exchange_strong(number, kNone)) return;
  }
}

std::shared_ptr<Connection> unshared(std::unique_ptr<Connection> connection) {
  const int descriptor = connection->wait_handle();
  give_up_in_child(descriptor);
  return {connection.release(), [descriptor](Connection* gone) {
            forget_in_child(descriptor);
            delete gone;
          }};
}

Joiner unshared_joiner(const Dialer& dialer) {
  return join_by([&dialer](std::chrono::milliseconds timeout,
                           Deadline deadline) { return unshared(dialer.connect(timeout, deadline)); },
                 dialer.address());
}

}  // namespace remotecl
