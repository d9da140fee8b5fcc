#include "runtime/containment/call_watcher.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace remotecl {
namespace {

constexpr std::size_t kReportsMax = 64;  // a process that tries everything must not fill a log

const char* name_of_call(int number) {
  switch (number) {
#define NAME(name) \
  case SYS_##name: \
    return #name;
#include "system_call_names.def"
#undef NAME
    default:
      return "without a name";
  }
}

// The kinds of some calls have reasons of their own.
std::uint64_t kind_of(const seccomp_data& call) {
  switch (call.nr) {
    case SYS_prctl:
      return call.args[0];
    case SYS_fcntl:
    case SYS_ioctl:
      return call.args[1];
    case SYS_setsockopt:
      return call.args[1] << 32 | call.args[2];
    default:
      return 0;
  }
}

std::string text_of(const seccomp_data& call) {
  const auto at = [&call](int i) { return static_cast<unsigned long long>(call.args[i]); };
  char text[128];
  std::snprintf(text, sizeof text, "%s (%d) with %#llx, %#llx, %#llx", name_of_call(call.nr), call.nr, at(0), at(1),
                at(2));
  return text;
}

// Drivers place their threads on processors. A filter does not know the numbers of threads.
bool places_own_thread(pid_t caller, const seccomp_data& call) {
  if (call.nr != SYS_sched_setaffinity) return false;
  const auto thread = static_cast<std::int32_t>(call.args[0]);
  return ::access(("/proc/" + std::to_string(caller) + "/task/" + std::to_string(thread)).c_str(), F_OK) == 0;
}

// One byte, and room for one descriptor.
struct DescriptorMessage : msghdr {
  DescriptorMessage() : msghdr{} {
    msg_iov = &part;
    msg_iovlen = 1;
    msg_control = control;
    msg_controllen = sizeof control;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

int receive_descriptor(int socket) {
  DescriptorMessage message;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  const cmsghdr* const header = size == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  int descriptor = -1;
  if (header != nullptr) std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

void close_all_but(int kept) {
  if (kept > STDERR_FILENO + 1) ::syscall(SYS_close_range, STDERR_FILENO + 1, kept - 1, 0);
  ::syscall(SYS_close_range, kept + 1, ~0u, 0);
}

// Until the last process with the filter has ended.
void answer_all(int listener, bool goes_on, const CallReport& report) {
  seccomp_notif_sizes sizes{};
  if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return;
  std::vector<std::uint64_t> question_space(sizes.seccomp_notif / sizeof(std::uint64_t) + 1);
  std::vector<std::uint64_t> answer_space(sizes.seccomp_notif_resp / sizeof(std::uint64_t) + 1);
  auto& question = reinterpret_cast<seccomp_notif&>(question_space.front());
  auto& answer = reinterpret_cast<seccomp_notif_resp&>(answer_space.front());
  std::set<std::pair<int, std::uint64_t>> reported;
  for (;;) {
    pollfd wait{listener, POLLIN, 0};
    if (::poll(&wait, 1, -1) < 0) continue;
    if ((wait.revents & POLLIN) == 0) return;
    std::memset(question_space.data(), 0, question_space.size() * sizeof(std::uint64_t));
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) continue;
    const bool is_harmless = places_own_thread(static_cast<pid_t>(question.pid), question.data);
    const bool is_allowed = goes_on || is_harmless;
    const std::uint32_t flags = is_allowed ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    answer = {question.id, 0, is_allowed ? 0 : -EPERM, flags};
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    if (is_harmless || reported.size() == kReportsMax) continue;
    if (reported.emplace(question.data.nr, kind_of(question.data)).second) report(text_of(question.data));
  }
}

}  // namespace

CallWatcher::CallWatcher(bool goes_on, const CallReport& report) {
  int ends[2] = {-1, -1};
  if (!report || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const pid_t watched = ::getpid(), watcher = ::fork();
  if (watcher == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "remotecl-watch");
    if (::getppid() != watched) ::_exit(0);
    close_all_but(ends[1]);
    const int listener = receive_descriptor(ends[1]);
    if (listener >= 0) answer_all(listener, goes_on, report);
    ::_exit(0);
  }
  ::close(ends[1]);
  if (watcher > 0) {
    socket_ = ends[0];
  } else {
    ::close(ends[0]);
  }
}

CallWatcher::~CallWatcher() {
  if (socket_ >= 0) ::close(socket_);
}

void CallWatcher::watch(int listener) {
  DescriptorMessage message;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof listener);
  std::memcpy(CMSG_DATA(header), &listener, sizeof listener);
  // If it is lost, refused calls fail all the same, because nobody has the descriptor.
  ::sendmsg(socket_, &message, MSG_NOSIGNAL);
  ::close(listener);
}

}  // namespace remotecl
