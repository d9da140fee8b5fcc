#include "server/isolation/containment.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/containment/device_files.h"
#include "runtime/containment/file_rules.h"
#include "runtime/containment/process_limits.h"
#include "runtime/containment/process_user.h"
#include "server/isolation/private_folder.h"
#include "server/isolation/session_environment.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

constexpr const char* kPrograms[] = {"/usr",  "/lib", "/lib32",     "/lib64",    "/bin",
                                     "/sbin", "/opt", "/nix/store", "/gnu/store"};
constexpr const char* kSettings[] = {
    "/etc/OpenCL",       "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
    "/etc/alternatives", "/etc/localtime",   "/etc/nvidia",     "/etc/drirc",        "/sys",
    "/proc/self",        "/proc/cpuinfo",    "/proc/meminfo",   "/proc/stat",        "/proc/version",
    "/proc/filesystems", "/proc/devices",    "/proc/driver",    "/proc/modules",     "/proc/sys"};
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

void fill(const std::string& folder) {
  ::umask(077);
  for (const char* const name : {"/cache", "/cache/pocl", "/cache/cuda", "/root"}) {
    ::mkdir((folder + name).c_str(), 0700);
  }
  for (const char* const name : {"/proc", "/sys"}) {
    [[maybe_unused]] const int made = ::symlink(name, (folder + "/root" + name).c_str());
  }
  [[maybe_unused]] const int changed = ::chdir(folder.c_str());
}

FileRules rules_of(const Containment& containment) {
  FileRules rules;
  for (const char* const path : kPrograms) rules.allow(path, FileRules::Access::kRun);
  for (const std::string& path : containment.paths) rules.allow(path, FileRules::Access::kRun);
  for (const char* const path : kSettings) rules.allow(path, FileRules::Access::kRead);
  for (const char* const path : kDevices) rules.allow(path, FileRules::Access::kUse);
  for (const std::string& path : device_files()) rules.allow(path, FileRules::Access::kUse);
  if (containment.has_rdma) {
    rules.allow("/dev/infiniband", FileRules::Access::kUse);
    rules.allow("/etc/libibverbs.d", FileRules::Access::kRead);
  }
  rules.allow(containment.folder, FileRules::Access::kEverything);
  return rules;
}

// Allows as much as the daemon may lock, which is more than a different session user may.
void allow_locked_memory() {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) == 0 || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_MEMLOCK, &limit);
}

}  // namespace

std::vector<std::string> contain(const Containment& containment) {
  std::vector<std::string> failures;
  if (containment.has_rdma) allow_locked_memory();
  const std::string no_user = become_process_user(containment.user, containment.folder, containment.paths);
  if (!no_user.empty()) failures.push_back("they are the daemon's user: " + no_user);
  limit_process({.bounds_memory = containment.filter == CallFilter::kAllowList,
                 .bounds_files = true,
                 .is_only_one_of_user = has_user_of_its_own()});
  fill(containment.folder);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const std::string no_rules = rules_of(containment).apply();
  if (!no_rules.empty()) {
    failures.push_back("they can read and write what their user can, as there are no rules for files: " + no_rules);
  } else if (!FileRules::can_move_files()) {
    failures.push_back(
        "they cannot move files between folders, without which PoCL links no kernel: Linux 5.19 allows it, and "
        "--no-isolate does without it");
  }
  // Without file rules, other processes of the same user could look into this one. The rules prevent that
  // too.
  ::prctl(PR_SET_DUMPABLE, no_rules.empty() ? 1 : 0, 0, 0, 0);
  // A change of user has cleared this setting.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const CallRules calls{.filter = containment.filter, .accepts = containment.has_sockets};
  const auto lacks =
      filter_system_calls(calls, [](const std::string& line) { log_warning("a session's process: {}", line); });
  failures.insert(failures.end(), lacks.begin(), lacks.end());
  return failures;
}

int print_containment(const std::string& user) {
  const PrivateFolder folder;
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const std::string& failure : contain({.folder = folder.path(), .user = user, .paths = driver_paths()})) {
      std::printf("%s\n", failure.c_str());
    }
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace remotecl::server
