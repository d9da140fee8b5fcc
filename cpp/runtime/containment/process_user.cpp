#include "runtime/containment/process_user.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "runtime/containment/device_files.h"

namespace remotecl {
namespace fs = std::filesystem;
namespace {

// User ids beyond those that distributions and containers assign (systemd's "Users, Groups, UIDs and GIDs").
// The process id, which is unique and less than 2^22, is added.
constexpr uid_t kFirst = 0x70000000;
constexpr uid_t kNobody = 65534;

struct Account {
  uid_t user;
  gid_t group;
  std::vector<gid_t> groups;
};

// The groups of the device files that their group may read and write, except root's.
std::vector<gid_t> device_groups() {
  std::vector<gid_t> groups;
  for (const std::string& path : device_files()) {
    std::error_code error;
    const auto look_at = [&groups](const fs::path& file) {
      struct stat status {};
      const bool is_for_group = ::stat(file.c_str(), &status) == 0 && (status.st_mode & 060) == 060;
      if (is_for_group && status.st_gid != 0) groups.push_back(status.st_gid);
    };
    look_at(path);
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) look_at(at->path());
  }
  return groups;
}

std::optional<Account> named(const std::string& name) {
  std::vector<gid_t> groups = device_groups();
  uid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc{} && end == name.data() + name.size()) return Account{number, number, std::move(groups)};
  const passwd* const found = ::getpwnam(name.c_str());
  if (found == nullptr) return std::nullopt;
  std::vector<gid_t> own(256);
  int count = static_cast<int>(own.size());
  if (::getgrouplist(name.c_str(), found->pw_gid, own.data(), &count) >= 0) {
    groups.insert(groups.end(), own.begin(), own.begin() + count);
  }
  return Account{found->pw_uid, found->pw_gid, std::move(groups)};
}

void drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  ::syscall(SYS_capset, &header, none);
}

bool can_read(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno != EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), S_ISDIR(status.st_mode) ? R_OK | X_OK : R_OK, AT_EACCESS) == 0;
}

bool give(const std::string& folder, uid_t user, gid_t group) {
  return folder.empty() || ::chown(folder.c_str(), user, group) == 0;
}

// Returns an empty text, or why it failed; then nothing has changed.
std::string become(const Account& account, const std::string& folder, const std::vector<std::string>& paths) {
  std::vector<gid_t> before(static_cast<std::size_t>(::getgroups(0, nullptr)));
  before.resize(static_cast<std::size_t>(::getgroups(static_cast<int>(before.size()), before.data())));
  std::string unreadable;
  const bool may = ::setgroups(account.groups.size(), account.groups.data()) == 0 && ::setegid(account.group) == 0 &&
                   ::seteuid(account.user) == 0;
  const int error = errno;
  for (const std::string& path : paths) {
    if (may && unreadable.empty() && !can_read(path)) unreadable = path;
  }
  if (::seteuid(0) != 0) return {};
  if (may && unreadable.empty() && give(folder, account.user, account.group) &&
      ::setresgid(account.group, account.group, account.group) == 0 &&
      ::setresuid(account.user, account.user, account.user) == 0) {
    return {};
  }
  const int later = errno;
  [[maybe_unused]] const bool is_back =
      ::setresgid(0, 0, 0) == 0 && give(folder, 0, 0) && ::setgroups(before.size(), before.data()) == 0;
  if (!unreadable.empty()) return "another user than root could not read " + unreadable;
  return "user " + std::to_string(account.user) + " cannot be had: " + std::strerror(may ? later : error);
}

uid_t own_user() { return kFirst + static_cast<uid_t>(::getpid()); }

}  // namespace

bool has_user_of_its_own() { return ::geteuid() == own_user(); }

std::string become_process_user(const std::string& name, const std::string& folder,
                                const std::vector<std::string>& paths) {
  std::string failure;
  if (::geteuid() != 0) {
    if (!name.empty()) failure = "only a daemon of root can give them user " + name;
  } else if (!name.empty()) {
    const auto account = named(name);
    failure = account ? become(*account, folder, paths) : "there is no user " + name;
  } else {
    const uid_t own = own_user();
    failure = become({own, own, device_groups()}, folder, paths);
    // A container may have fewer user ids; its sessions share one.
    if (!failure.empty()) failure = become({kNobody, kNobody, device_groups()}, folder, paths);
  }
  drop_capabilities();
  return failure;
}

}  // namespace remotecl
