#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/bytes.h"

namespace remotecl {

// A file that is mapped into memory, in one of its states. A value.
struct MappedFile {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t written_ns = 0, changed_ns = 0;
  std::string path;
  std::uint64_t offset = 0;  // of the memory's first byte

  // The file whose bytes these are; empty if the memory is no read-only mapping of one file, or if the file may be
  // changed without that being seen in its times.
  static std::optional<MappedFile> of(Bytes memory);

  // Whether the file is still in this state.
  bool is_unchanged() const;
  // Waits until the file is on the disk. After that, a write into a shared mapping of it changes its times; before,
  // only the first write after the kernel has written the page back does. Returns false if that fails, or if the file
  // is no longer in this state.
  bool is_written_back() const;
};

// Whether memory of a read-only mapping has the file's bytes: none of its pages was written before it became read-only.
bool shows_file(Bytes memory);

}  // namespace remotecl
