#pragma once

#include <string>

#include "server/util/descriptor.h"

namespace remotecl::server {

// A folder for one session's process: what that writes, compiles and keeps lies in it, and goes with this object.
// Empty, and this user's. Those that killed daemons of this user have left behind go when a daemon makes its first one.
class PrivateFolder {
 public:
  // Throws std::system_error.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor lock_;  // says that it is in use
};

}  // namespace remotecl::server
