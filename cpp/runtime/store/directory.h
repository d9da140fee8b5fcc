#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/store/stored_file.h"

namespace remotecl {

// Holds a Store's entries: files by name, in a folder that other processes may use at the same time. Any
// thread.
class Directory {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;
    std::int64_t used_ns = 0;  // time of the last write or mark_used(), by a clock that all processes share
    std::int64_t written_ns = 0;
  };

  virtual ~Directory() = default;

  virtual std::vector<Entry> list() = 0;
  // Empty if there is no such file, it is longer than `size_max`, or it cannot be read.
  virtual std::optional<std::vector<std::byte>> read(const std::string& name, std::size_t size_max) = 0;
  // Opens the file without reading it; not valid if there is no such file.
  virtual StoredFile open(const std::string& name) = 0;
  // Writes the file completely or not at all, even if the power fails. Empty if it was not written.
  virtual std::optional<FileState> write(const std::string& name, Bytes bytes) = 0;
  virtual void mark_used(const std::string& name) = 0;
  virtual void remove(const std::string& name) = 0;
};

}  // namespace remotecl
