#pragma once

#include <string>
#include <utility>

#include "extras/streams/support/rules.h"

namespace remotecl::plugins {

// Owns a descriptor. Movable.
class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  ~File();
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Opens a file or folder below one that a rule of `kind` ("read" or "write") names. The system resolves the path below
// that folder, and refuses a path that leaves it, by a link or otherwise. `flags` as for open(). Throws PluginError.
File open_allowed(const Rules& rules, const std::string& kind, const std::string& path, int flags);

}  // namespace remotecl::plugins
