#pragma once

#include <cstdint>
#include <string>

#include "server/util/descriptor.h"

namespace remotecl::server {

// What a process may do with files, by Linux' Landlock: nothing but what it is allowed. Also, as far as the kernel can:
// no TCP but what it has, no signals to other processes, no look into them. One thread.
class FileRules {
 public:
  FileRules();

  // Why there are none; empty: there are.
  const std::string& failure() const { return failure_; }

  enum class Access {
    kRead,        // and list folders
    kRun,         // read, and start programs
    kUse,         // a device, or a file that is there: read and write
    kEverything,  // in a folder, but start programs
  };
  // A path that does not exist is passed over.
  void allow(const std::string& path, Access access);
  // From now on, for this thread and all that it starts. False when the system refuses; failure() says why.
  bool apply();

 private:
  std::string failure_;
  std::uint64_t handled_ = 0;  // rights that the kernel knows
  Descriptor rules_;
};

}  // namespace remotecl::server
