#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace remotecl::server {

// The control groups (version 2) that a service manager has delegated to this process, as systemd does with Delegate=.
// An attribute of the folder says so. Without it nothing is touched, also where this user could write, because then the
// groups are the manager's own.
class DelegatedCgroup {
 public:
  static constexpr const char* kMark = "user.delegate";

  // The delegated group of this process, in which a group for each session can be made.
  static const DelegatedCgroup& instance();

  // Moves all processes of `group` into a group below it, as groups below need it to be empty. `group` may be empty or
  // not delegated.
  explicit DelegatedCgroup(std::filesystem::path group);

  bool is_available() const { return !group_.empty(); }
  const std::filesystem::path& path() const { return group_; }

 private:
  std::filesystem::path group_;
};

// The control group of one session's process: bounds its threads and processes (kProcessThreadsMax) also where they
// have the daemon's user, for which RLIMIT_NPROC counts all sessions together. Where memory runs out, all of it ends.
// Does nothing if no group was delegated.
class SessionCgroup {
 public:
  explicit SessionCgroup(const DelegatedCgroup& parent = DelegatedCgroup::instance()) : parent_(parent) {}
  // Removes the group, which must be empty.
  ~SessionCgroup();
  SessionCgroup(const SessionCgroup&) = delete;
  SessionCgroup& operator=(const SessionCgroup&) = delete;

  // Makes the group and moves a process into it.
  void take(pid_t process);
  // Kills all that is in the group.
  void kill();

 private:
  const DelegatedCgroup& parent_;
  std::filesystem::path group_;
};

}  // namespace remotecl::server
