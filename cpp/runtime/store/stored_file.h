#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/bytes.h"

namespace remotecl {

// What tells one state of a file from another, without its bytes.
struct FileState {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t written_ns = 0;
  bool is_ours = false;  // a regular file that belongs to this user

  bool operator==(const FileState&) const = default;
};

// An open file of a Directory, or nothing. Movable.
class StoredFile {
 public:
  explicit StoredFile(int descriptor = -1) : descriptor_(descriptor) {}
  ~StoredFile() { close(); }
  StoredFile(StoredFile&& other) noexcept : descriptor_(other.release()) {}
  StoredFile& operator=(StoredFile&& other) noexcept;

  bool valid() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int release();
  std::optional<FileState> state() const;
  // Fills `to`. Returns false if the file has no such bytes or they cannot be read.
  bool read(std::uint64_t offset, MutableBytes to) const;
  // Appends all of it. Returns false if the system does not take it.
  bool write(Bytes bytes) const;
  // Returns false if the system reports only now that something was not written.
  bool close();

 private:
  int descriptor_;
};

}  // namespace remotecl
