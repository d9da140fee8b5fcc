#pragma once

#include <string>

#include "server/util/descriptor.h"

namespace remotecl::server {

// A folder for one session's process, which holds what the process writes, compiles and caches, and is
// removed with this object. New folders are empty and belong to this user. A daemon that creates its first
// one removes those that killed daemons of this user left behind.
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
  Descriptor lock_;  // marks the folder as in use
};

}  // namespace remotecl::server
