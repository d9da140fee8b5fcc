#pragma once

#include <cstdint>
#include <string>

#include "server/util/descriptor.h"

namespace remotecl::server {

// Restricts a process with Linux Landlock: it can use only the files that it is allowed to. As far as the
// kernel supports it, it also cannot use TCP except for the sockets it has, signal other processes, or look
// into them. Used by one thread.
class FileRules {
 public:
  FileRules();

  // Why rules are unavailable; empty if they are available.
  const std::string& failure() const { return failure_; }

  enum class Access {
    kRead,        // also list folders
    kRun,         // read, and start programs
    kUse,         // read and write an existing file or a device
    kEverything,  // all uses of a folder except starting programs
  };
  // Ignores a path that does not exist.
  void allow(const std::string& path, Access access);
  // Applies the rules to this thread and everything it starts. Returns false if the system refuses; failure()
  // says why.
  bool apply();

 private:
  std::string failure_;
  std::uint64_t handled_ = 0;  // the rights that the kernel knows
  Descriptor rules_;
};

}  // namespace remotecl::server
