#include "server/isolation/session_cgroup.h"

#include <sys/xattr.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/containment/process_limits.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

bool write_to(const fs::path& file, std::string_view words) {
  std::ofstream out(file);
  return static_cast<bool>(out << words << std::flush);
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Where groups of version 2 are mounted, and this process's among them. Empty where they are not.
fs::path own_group() {
  for (const std::string& line : lines_of("/proc/self/cgroup")) {
    if (!line.starts_with("0::/")) continue;
    for (const char* const mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      fs::path group = mount + line.substr(3);
      std::error_code error;
      if (fs::exists(group / "cgroup.procs", error)) return group;
    }
  }
  return {};
}

bool is_delegated(const fs::path& group) {
  char value = 0;
  return ::getxattr(group.c_str(), DelegatedCgroup::kMark, &value, 1) == 1 && value == '1';
}

}  // namespace

const DelegatedCgroup& DelegatedCgroup::instance() {
  static const DelegatedCgroup group{own_group()};
  return group;
}

DelegatedCgroup::DelegatedCgroup(fs::path group) {
  if (group.empty() || !is_delegated(group)) return;
  std::error_code error;
  const fs::path own = group / "daemon";
  fs::create_directory(own, error);
  for (const std::string& process : lines_of(group / "cgroup.procs")) write_to(own / "cgroup.procs", process);
  if (write_to(group / "cgroup.subtree_control", "+pids")) {
    write_to(group / "cgroup.subtree_control", "+memory");
    group_ = std::move(group);
  } else {
    log_warning("{} was delegated, but sessions get no control groups of their own: {}", group.string(),
                std::strerror(errno));
  }
}

void SessionCgroup::take(pid_t process) {
  if (!parent_.is_available()) return;
  const fs::path group = parent_.path() / ("session-" + std::to_string(process));
  std::error_code error;
  fs::create_directory(group, error);
  group_ = group;
  write_to(group / "memory.oom.group", "1");
  if (!write_to(group / "pids.max", std::to_string(kProcessThreadsMax)) ||
      !write_to(group / "cgroup.procs", std::to_string(process))) {
    log_warning("process {} has no control group of its own: {}", process, std::strerror(errno));
  }
}

void SessionCgroup::kill() {
  if (!group_.empty()) write_to(group_ / "cgroup.kill", "1");
}

SessionCgroup::~SessionCgroup() {
  std::error_code error;
  if (!group_.empty()) fs::remove(group_, error);
}

}  // namespace remotecl::server
