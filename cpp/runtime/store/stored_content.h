#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "runtime/crypto/checksum.h"
#include "runtime/store/stored_file.h"

namespace remotecl {

// Content in a file that was found to be right, or nothing. Movable; one thread at a time.
class StoredContent {
 public:
  // The content begins at `offset` of a file that was in `state`, and had this checksum.
  StoredContent(StoredFile file, const FileState& state, std::uint64_t offset, std::uint64_t size,
                std::uint64_t checksum)
      : file_(std::move(file)), state_(state), offset_(offset), size_(size), checksum_(checksum) {}
  StoredContent() = default;

  bool valid() const { return file_.valid(); }
  std::uint64_t size() const { return size_; }
  std::uint64_t checksum() const { return checksum_; }
  // The file's descriptor, which the caller closes.
  int release() { return file_.release(); }
  // Fills `to` with the next bytes, from the beginning on. Returns false if the file has changed meanwhile or cannot be
  // read. Also returns false with the last bytes if the content is damaged; then nothing that was read is valid. (A
  // file keeps its state when the disk has lost its bytes.)
  bool read(MutableBytes to) {
    if (to.size() > size_ - read_ || !file_.read(offset_ + read_, to) || file_.state() != state_) return false;
    read_ += to.size();
    try {
      if (!sum_) sum_.emplace();
      sum_->add(to);
      return read_ < size_ || sum_->value() == checksum_;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

 private:
  StoredFile file_;
  FileState state_;
  std::uint64_t offset_ = 0, size_ = 0, checksum_ = 0;
  std::uint64_t read_ = 0;
  std::optional<Checksum> sum_;  // of what was read
};

}  // namespace remotecl
