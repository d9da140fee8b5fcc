#include "server/isolation/system_call_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remotecl::server {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

constexpr std::uint32_t kFirstOfX32 = 0x40000000;

// System calls that have the same number on every architecture, and may be unknown to the build system.
enum : std::uint32_t {
  kPidfdSendSignal = 424,
  kIoUringSetup = 425,
  kIoUringEnter = 426,
  kIoUringRegister = 427,
  kOpenTree = 428,
  kMoveMount = 429,
  kFsopen = 430,
  kFsconfig = 431,
  kFsmount = 432,
  kFspick = 433,
  kClone3 = 435,
  kPidfdGetfd = 438,
  kProcessMadvise = 440,
  kMountSetattr = 442,
  kQuotactlFd = 443,
};

constexpr std::uint32_t kDenied[] = {
    // New ways to communicate. Sockets that the process has been given use other calls.
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    kIoUringSetup,
    kIoUringEnter,
    kIoUringRegister,
    // Access to other processes, and leaving the process group, by which the daemon ends all of them.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    kPidfdGetfd,
    kPidfdSendSignal,
    kProcessMadvise,
    SYS_kcmp,
    SYS_migrate_pages,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_setsid,
    SYS_setpgid,
    // Objects that processes of a user find by name or number.
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Other views of the system, and rarely used ways into the kernel.
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    kOpenTree,
    kMoveMount,
    kFsopen,
    kFsconfig,
    kFsmount,
    kFspick,
    kMountSetattr,
    SYS_open_by_handle_at,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    SYS_vhangup,
    SYS_personality,
    // Settings of the machine.
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    kQuotactlFd,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
};

constexpr std::uint32_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;

// Assembles a BPF program, instruction by instruction.
class Filter {
 public:
  static constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  static constexpr std::uint32_t error(int number) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number); }

  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  // Loads the lower half, which is all of an int.
  void load_argument(unsigned number) { load(offsetof(seccomp_data, args) + number * sizeof(std::uint64_t)); }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  void answer(std::uint32_t what) { add(BPF_RET | BPF_K, what); }
  void answer_if(int comparison, std::uint32_t value, std::uint32_t what) {
    add(BPF_JMP | comparison | BPF_K, value, 0, 1);
    answer(what);
  }
  void answer_unless(int comparison, std::uint32_t value, std::uint32_t what) {
    add(BPF_JMP | comparison | BPF_K, value, 1, 0);
    answer(what);
  }
  // Applies `rule` to one system call; others skip it.
  template <class Rule>
  void of(std::uint32_t number, Rule&& rule) {
    load_number();
    const std::size_t jump = code_.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 0);
    rule();
    code_[jump].jf = static_cast<std::uint8_t>(code_.size() - jump - 1);
  }

  bool install() {
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  void add(int code, std::uint32_t value, std::uint8_t on_true = 0, std::uint8_t on_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), on_true, on_false, value});
  }

  std::vector<sock_filter> code_;
};

}  // namespace

bool filter_system_calls(bool accepts) {
  if (kArchitecture == 0) {
    errno = ENOSYS;
    return false;
  }
  const std::uint32_t denied = Filter::error(EPERM);
  const auto own = static_cast<std::uint32_t>(::getpid());
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.answer_unless(BPF_JEQ, kArchitecture, denied);
  filter.load_number();
  filter.answer_if(BPF_JGE, kFirstOfX32, denied);
  for (const std::uint32_t number : kDenied) filter.answer_if(BPF_JEQ, number, denied);
  if (!accepts) filter.answer_if(BPF_JEQ, SYS_accept4, denied);
  // A socket that the process was given for one address must not connect to another by sending.
  const auto sends = [&](std::uint32_t number, unsigned flags) {
    filter.of(number, [&] {
      filter.load_argument(flags);
      filter.answer_if(BPF_JSET, MSG_FASTOPEN, denied);
      filter.answer(Filter::kAllow);
    });
  };
  sends(SYS_sendto, 3);
  sends(SYS_sendmsg, 2);
  sends(SYS_sendmmsg, 3);
  // Its flags are in memory, where a filter cannot look. The C library falls back to clone.
  filter.answer_if(BPF_JEQ, kClone3, Filter::error(ENOSYS));
  filter.of(SYS_clone, [&] {
    filter.load_argument(0);
    filter.answer_if(BPF_JSET, kNamespaces, denied);
    filter.answer(Filter::kAllow);
  });
  // Pairs of connected sockets (socketpair) stay possible.
  filter.of(SYS_socket, [&] { filter.answer(denied); });
  for (const std::uint32_t number : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) {
    filter.of(number, [&] {
      filter.load_argument(0);
      filter.answer_if(BPF_JEQ, own, Filter::kAllow);
      filter.answer(denied);
    });
  }
  filter.of(SYS_tkill, [&] { filter.answer(denied); });
  filter.of(SYS_prlimit64, [&] {
    filter.load_argument(0);
    filter.answer_if(BPF_JEQ, 0, Filter::kAllow);
    filter.answer_if(BPF_JEQ, own, Filter::kAllow);
    filter.answer(denied);
  });
  // Simulating input on the terminal that the daemon was started from.
  filter.of(SYS_ioctl, [&] {
    filter.load_argument(1);
    filter.answer_if(BPF_JEQ, TIOCSTI, denied);
    filter.answer_if(BPF_JEQ, 0x541C /* TIOCLINUX */, denied);
    filter.answer(Filter::kAllow);
  });
  filter.answer(Filter::kAllow);
  return filter.install();
}

}  // namespace remotecl::server
