#pragma once

#include <cstdint>
#include <utility>

#include "runtime/store/stored_file.h"

namespace remotecl {

// Content in a file that was found to be right, or nothing. Movable; one thread at a time.
class StoredContent {
 public:
  // The content begins at `offset` of a file that was in `state`.
  StoredContent(StoredFile file, const FileState& state, std::uint64_t offset, std::uint64_t size)
      : file_(std::move(file)), state_(state), offset_(offset), size_(size) {}
  StoredContent() = default;

  bool valid() const { return file_.valid(); }
  std::uint64_t size() const { return size_; }
  // The file's descriptor, which the caller closes.
  int release() { return file_.release(); }
  // Fills `to`. Returns false if the file has changed meanwhile or cannot be read; then `to` means nothing.
  bool read(std::uint64_t at, MutableBytes to) const {
    return at <= size_ && to.size() <= size_ - at && file_.read(offset_ + at, to) && file_.state() == state_;
  }

 private:
  StoredFile file_;
  FileState state_;
  std::uint64_t offset_ = 0, size_ = 0;
};

}  // namespace remotecl
