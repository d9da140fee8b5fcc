#include "runtime/containment/system_call_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/containment/call_watcher.h"
#include "runtime/containment/filter_program.h"
#include "runtime/containment/system_call_lists.h"

namespace remotecl {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

constexpr std::uint32_t kFirstOfX32 = 0x40000000;
constexpr std::uint32_t kAllowed = SECCOMP_RET_ALLOW;
constexpr std::uint32_t error(int number) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number); }

// As Linux has them; some are unknown to the build system.
constexpr std::uint32_t kSetOwnerEx = 15, kTerminalInput = 0x5412 /* TIOCSTI */, kConsole = 0x541C /* TIOCLINUX */;
constexpr std::uint32_t kNoExecSeal = 8 /* MFD_NOEXEC_SEAL */, kExec = 16 /* MFD_EXEC */;
constexpr std::uint32_t kNameMemory = 0x53564d41 /* PR_SET_VMA */;
constexpr std::uint32_t kSendTimeNew = 67, kReceiveTimeNew = 66;  // SO_SNDTIMEO_NEW, SO_RCVTIMEO_NEW

constexpr std::uint32_t kOwnProcess = 0;
constexpr std::uint32_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;
// Of threads, and of processes whose parent is this one. The lowest byte is the signal for the parent.
constexpr std::uint32_t kOfThreads = 0xff | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                     CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
                                     CLONE_CHILD_CLEARTID | CLONE_DETACHED | CLONE_VFORK;

// Does this kernel make memory that cannot be executed as a program, and stays so?
bool has_memory_without_programs() {
  const int memory = ::memfd_create("remotecl-probe", MFD_CLOEXEC | kNoExecSeal);
  if (memory >= 0) ::close(memory);
  return memory >= 0;
}

// One filter. Each function judges calls of one kind by their arguments: those that are needed are allowed, those that
// lead out are refused, and the rest is up to the kind of filter.
class Filter {
 public:
  // `reports`: refused calls are to be reported by a watcher.
  Filter(const CallRules& rules, bool reports)
      : rules_(rules),
        refused_(reports && rules.filter == CallFilter::kAllowList ? SECCOMP_RET_USER_NOTIF : error(EPERM)),
        rest_(rules.filter == CallFilter::kAllowList ? refused_
              : reports                              ? SECCOMP_RET_USER_NOTIF
                                                     : kAllowed) {
    program_.load(offsetof(seccomp_data, arch));
    program_.answer_unless(BPF_JEQ, kArchitecture, error(EPERM));
    program_.load_number();
    program_.answer_if(BPF_JGE, kFirstOfX32, error(EPERM));
    // First, because the filter runs for each of them; of what is always allowed, Linux 5.11 and later knows it.
    messages();
    program_.load_number();
    program_.answer_if_one_of(kNeeded, kAllowed);
    // Its flags are in memory, where a filter cannot look. The C library falls back to clone.
    program_.answer_if(BPF_JEQ, kClone3, error(ENOSYS));
    sockets();
    files();
    descriptors();
    processes();
    program_.load_number();
    if (rules.filter == CallFilter::kAllowList) {
      program_.answer_if(BPF_JGE, kFirstOfLater, error(ENOSYS));
    } else {
      program_.answer_if_one_of(kDenied, error(EPERM));
    }
    program_.answer(rest_);
  }

  sock_fprog program() { return program_.program(); }

 private:
  // A socket that the process was given for one address must not lead to another, neither by connecting while it sends
  // nor by an address beside the message. sendmsg() has that in memory, where a filter cannot look: the sockets that
  // there are, connected ones, take no address.
  void messages() {
    const auto sends = [this](std::uint32_t number, unsigned flags) {
      program_.of(number, [&] {
        program_.load_argument(flags);
        program_.answer_if(BPF_JSET, MSG_FASTOPEN, refused_);
        program_.answer(kAllowed);
      });
    };
    sends(SYS_sendmsg, 2);
    sends(SYS_sendmmsg, 3);
    program_.of(SYS_sendto, [this] {
      program_.load_argument(3);
      program_.answer_if(BPF_JSET, MSG_FASTOPEN, refused_);
      if (!rules_.makes_sockets) {
        program_.load_argument(4);
        program_.answer_unless(BPF_JEQ, 0, refused_);
        program_.load_upper_half(4);
        program_.answer_unless(BPF_JEQ, 0, refused_);
      }
      program_.answer(kAllowed);
    });
  }

  void sockets() {
    // Pairs without a connection (datagrams) could send to every socket of the machine that has a name.
    program_.of(SYS_socketpair, [this] {
      program_.load_argument(0);
      program_.answer_unless(BPF_JEQ, AF_UNIX, refused_);
      program_.load_argument(1);
      program_.keep_bits(0xf);
      program_.answer_if_one_of(std::array<std::uint32_t, 2>{SOCK_STREAM, SOCK_SEQPACKET}, kAllowed);
      program_.answer(refused_);
    });
    program_.of(SYS_socket, [this] {
      program_.load_argument(0);
      if (rules_.makes_sockets) program_.answer_if_one_of(std::array<std::uint32_t, 2>{AF_INET, AF_INET6}, kAllowed);
      program_.answer(refused_);
    });
    if (rules_.makes_sockets) {
      for (const std::uint32_t number : {SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4}) {
        program_.of(number, [this] { program_.answer(kAllowed); });
      }
    }
    program_.of(SYS_accept4, [this] { program_.answer(rules_.accepts ? kAllowed : refused_); });
    program_.of(SYS_setsockopt, [this] { socket_options(); });
  }

  void socket_options() {
    program_.load_argument(1);
    program_.when(BPF_JEQ, SOL_SOCKET, [this] {
      program_.load_argument(2);
      program_.answer_if_one_of(
          std::array<std::uint32_t, 10>{SO_SNDTIMEO, SO_RCVTIMEO, kSendTimeNew, kReceiveTimeNew, SO_MAX_PACING_RATE,
                                        SO_KEEPALIVE, SO_SNDBUF, SO_RCVBUF, SO_LINGER, SO_REUSEADDR},
          kAllowed);
      // Programs for the kernel.
      program_.answer_if_one_of(std::array<std::uint32_t, 4>{SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
                                                             SO_ATTACH_REUSEPORT_EBPF},
                                refused_);
      program_.answer(rules_.makes_sockets ? kAllowed : rest_);
    });
    if (rules_.makes_sockets) program_.answer(kAllowed);
    program_.when(BPF_JEQ, IPPROTO_TCP, [this] {
      program_.load_argument(2);
      program_.answer_if_one_of(
          std::array<std::uint32_t, 8>{TCP_NODELAY, TCP_CORK, TCP_QUICKACK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT,
                                       TCP_USER_TIMEOUT, TCP_NOTSENT_LOWAT},
          kAllowed);
      program_.answer(rest_);
    });
    program_.answer(rest_);
  }

  void files() {
    // Opening for reading must not empty a file. Landlock forbids that from Linux 6.2 on.
    const auto opens = [this](std::uint32_t number, unsigned flags) {
      program_.of(number, [&] {
        program_.load_argument(flags);
        program_.keep_bits(O_TRUNC | O_ACCMODE);
        program_.answer_if(BPF_JEQ, O_TRUNC | O_RDONLY, refused_);
        program_.answer(kAllowed);
      });
    };
    opens(SYS_openat, 2);
#if defined(__x86_64__)
    opens(SYS_open, 1);
#endif
    // Its flags are in memory.
    program_.of(kOpenat2, [this] { program_.answer(rules_.opens_below ? kAllowed : rest_); });
    // Landlock says nothing about rights. A linker makes its result executable, which nobody needs: no report.
    program_.of(SYS_fchmodat, [this] { program_.answer(error(EPERM)); });
#if defined(__x86_64__)
    program_.of(SYS_chmod, [this] { program_.answer(error(EPERM)); });
#endif
    program_.of(SYS_fchmod, [this] {
      program_.load_argument(1);
      program_.answer_if(BPF_JEQ, S_IRUSR | S_IWUSR, kAllowed);  // as our own memory has it
      program_.answer(rest_);
    });
    // No rule for files knows memory, so that every program in it could be started.
    program_.of(SYS_memfd_create, [this] {
      if (has_memory_without_programs()) {
        program_.load_argument(1);
        program_.keep_bits(kNoExecSeal | kExec);
        program_.answer_unless(BPF_JEQ, kNoExecSeal, rest_);  // what GPUs' drivers want it for, nobody knows
      }
      program_.answer(kAllowed);
    });
  }

  void descriptors() {
    // Not what sends a signal when something happens to a file: the kernel sends it to every process of the user.
    program_.of(SYS_fcntl, [this] {
      program_.load_argument(1);
      program_.when(BPF_JEQ, F_SETFL, [this] {
        program_.load_argument(2);
        program_.answer_if(BPF_JSET, O_ASYNC, refused_);
        program_.answer(kAllowed);
      });
      program_.answer_if_one_of(
          std::array<std::uint32_t, 15>{F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_GETLK, F_SETLK, F_SETLKW,
                                        F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ, F_SETPIPE_SZ, F_ADD_SEALS,
                                        F_GET_SEALS},
          kAllowed);
      program_.answer_if_one_of(std::array<std::uint32_t, 5>{F_SETOWN, F_SETSIG, kSetOwnerEx, F_NOTIFY, F_SETLEASE},
                                refused_);
      program_.answer(rest_);
    });
    program_.of(SYS_ioctl, [this] {
      program_.load_argument(1);
      program_.answer_if_one_of(std::array<std::uint32_t, 6>{TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX},
                                kAllowed);
      // Simulating input on the terminal that the daemon was started from, and signals as with fcntl().
      program_.answer_if_one_of(std::array<std::uint32_t, 5>{kTerminalInput, kConsole, FIOSETOWN, SIOCSPGRP, FIOASYNC},
                                refused_);
      program_.answer(rules_.controls_devices ? kAllowed : rest_);
    });
    program_.of(SYS_prctl, [this] {
      program_.load_argument(0);
      program_.answer_if_one_of(
          std::array<std::uint32_t, 9>{PR_SET_NAME, PR_GET_NAME, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_GET_DUMPABLE,
                                       PR_CAPBSET_READ, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, kNameMemory},
          kAllowed);
      program_.answer(rest_);
    });
  }

  void processes() {
    const auto own = static_cast<std::uint32_t>(::getpid());
    program_.of(SYS_clone, [this] {
      program_.load_argument(0);
      // A child of this process's parent would be the daemon's.
      program_.answer_if(BPF_JSET, kNamespaces | CLONE_PARENT, refused_);
      program_.answer_if(BPF_JSET, ~kOfThreads, rest_);
      program_.answer(kAllowed);
    });
    for (const std::uint32_t number : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) {
      program_.of(number, [&] {
        program_.load_argument(0);
        program_.answer_if(BPF_JEQ, own, kAllowed);
        program_.answer(refused_);
      });
    }
    program_.of(SYS_tkill, [this] { program_.answer(refused_); });
    for (const std::uint32_t number : {SYS_prlimit64, SYS_sched_setaffinity}) {
      program_.of(number, [&] {
        program_.load_argument(0);
        program_.answer_if(BPF_JEQ, kOwnProcess, kAllowed);
        program_.answer_if(BPF_JEQ, own, kAllowed);
        // The watcher, or a driver of a GPU, may place other threads.
        program_.answer(number == SYS_sched_setaffinity ? rest_ : refused_);
      });
    }
  }

  const CallRules rules_;
  const std::uint32_t refused_;  // the answer for what leads out
  const std::uint32_t rest_;     // and for what is in no list
  FilterProgram program_;
};

// Returns false where calls cannot be reported: in a container whose own filter is watched, and before Linux 5.5.
bool install_watched(const CallRules& rules, const CallReport& report) {
  if (!report || rules.filter == CallFilter::kDenyList) return false;
  const bool is_audit = rules.filter == CallFilter::kAudit;
  CallWatcher watcher(is_audit, [&](const std::string& call) {
    report(is_audit ? "would be refused: system call " + call
                    : "refused: system call " + call + "; --filter audit finds all that a driver needs");
  });
  if (!watcher.valid()) return false;
  Filter filter(rules, true);
  const sock_fprog program = filter.program();
  const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener >= 0) watcher.watch(static_cast<int>(listener));
  return listener >= 0;
}

bool install(const CallRules& rules) {
  Filter filter(rules, false);
  const sock_fprog program = filter.program();
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

std::optional<CallFilter> parse_call_filter(std::string_view name) {
  for (const CallFilter filter : {CallFilter::kAllowList, CallFilter::kDenyList, CallFilter::kAudit}) {
    if (name == name_of(filter)) return filter;
  }
  return std::nullopt;
}

std::string_view name_of(CallFilter filter) {
  switch (filter) {
    case CallFilter::kAllowList:
      return "allow";
    case CallFilter::kDenyList:
      return "deny";
    case CallFilter::kAudit:
      break;
  }
  return "audit";
}

std::vector<std::string> filter_system_calls(const CallRules& rules, const CallReport& report) {
  std::vector<std::string> lacks;
  if (!has_memory_without_programs()) {
    lacks.emplace_back("they can start programs of their own from memory, contained as they are: Linux 6.3 forbids it");
  }
  const std::string harm = "they can use all system calls, sockets and signals to other processes too: ";
  if (kArchitecture == 0) {
    lacks.push_back(harm + "there is no filter for this processor");
  } else if (!install_watched(rules, report)) {
    if (!install(rules)) {
      lacks.push_back(harm + "this kernel has no filter for them (seccomp: " + std::strerror(errno) + ")");
    } else if (rules.filter == CallFilter::kAudit) {
      lacks.emplace_back("--filter audit reports nothing: another filter of this machine has a watcher already");
    }
  }
  return lacks;
}

}  // namespace remotecl
