#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace remotecl {

// Restricts a process with Linux Landlock: it can use only the files that it is allowed to. As far as the
// kernel supports it, it also cannot use TCP except for the sockets it has and for the ports that it is allowed, signal
// other processes, or look into them. Used by one thread.
class FileRules {
 public:
  enum class Access {
    kRead,        // also list folders
    kRun,         // read, and start programs
    kUse,         // read and write an existing file or a device
    kEverything,  // all uses of a folder except starting programs
  };
  // Ignores a path that does not exist when the rules are applied.
  void allow(const std::string& path, Access access) { paths_.emplace_back(path, access); }

  // Without these, no port of TCP can be connected to or listened on.
  void allow_connecting(std::uint16_t port) { connected_.push_back(port); }
  void allow_listening(std::uint16_t port) { listening_.push_back(port); }
  void allow_all_connecting() { connects_anywhere_ = true; }
  void allow_all_listening() { listens_anywhere_ = true; }

  // Applies the rules to this thread and everything it starts. Returns an empty text, or why they do not hold.
  // Throws std::system_error where a descriptor is short: rules with gaps would make other things fail.
  std::string apply() const;
  // Whether a process with rules can move a file from one of its folders into another.
  static bool can_move_files();

 private:
  std::vector<std::pair<std::string, Access>> paths_;
  std::vector<std::uint16_t> connected_, listening_;
  bool connects_anywhere_ = false, listens_anywhere_ = false;
};

}  // namespace remotecl
