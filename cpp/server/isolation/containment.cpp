#include "server/isolation/containment.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "server/isolation/file_rules.h"
#include "server/isolation/private_folder.h"
#include "server/isolation/session_environment.h"
#include "server/isolation/session_user.h"
#include "server/isolation/system_call_filter.h"
#include "server/util/format.h"

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

std::vector<std::string> device_files() {
  glob_t found{};
  int flags = 0;
  for (const char* const pattern : {"/dev/nvidia*", "/dev/dri", "/dev/kfd", "/dev/accel", "/dev/dxg", "/dev/mali*"}) {
    ::glob(pattern, flags, nullptr, &found);
    flags = GLOB_APPEND;
  }
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

std::vector<std::string> contain(const Containment& containment) {
  std::vector<std::string> failures;
  if (containment.has_rdma) allow_locked_memory();
  const std::string no_user = become_session_user(containment.user, containment.folder, containment.paths);
  if (!no_user.empty()) failures.push_back("they are the daemon's user: " + no_user);
  fill(containment.folder);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  FileRules rules = rules_of(containment);
  const bool has_rules = rules.apply();
  if (!has_rules) {
    failures.push_back("they can read and write what their user can, as there are no rules for files: " +
                       rules.failure());
  }
  // Without file rules, other processes of the same user could look into this one. The rules prevent that
  // too.
  ::prctl(PR_SET_DUMPABLE, has_rules ? 1 : 0, 0, 0, 0);
  // A change of user has cleared this setting.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (!filter_system_calls(containment.has_sockets)) {
    failures.push_back(
        format_text("they can use all system calls, sockets and signals to other processes too: this "
                    "kernel has no filter for them (seccomp: {})",
                    std::strerror(errno)));
  }
  return failures;
}

int print_containment(const std::string& user) {
  const PrivateFolder folder;
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const std::string& failure : contain({folder.path(), user, driver_paths()})) {
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
