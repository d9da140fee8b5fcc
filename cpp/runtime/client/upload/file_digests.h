#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/client/upload/mapped_file.h"
#include "runtime/crypto/digest.h"

namespace remotecl {

// The digests of a file's parts. They outlive the process, so that another one can name the parts without reading the
// file. One thread.
class FileDigests {
 public:
  // Empty if the memory is not a mapped file, or no digests can be kept.
  static std::optional<FileDigests> of(const std::byte* memory, std::uint64_t size);

  // The digest of a part of the memory; empty if it is not known.
  std::optional<Digest> find(Bytes part) const;
  // Call it before computing the first digest for add(). Waits until the file is on the disk.
  void prepare();
  void add(Bytes part, const Digest& digest);
  // Keeps what was added, unless the file has changed meanwhile. May fail silently.
  void keep();

 private:
  using Part = std::pair<std::uint64_t, std::uint64_t>;  // offset in the file, size

  FileDigests(MappedFile file, const std::byte* memory) : file_(std::move(file)), memory_(memory) {}
  Part part_of(Bytes part) const;
  Digest key() const;
  void load();

  MappedFile file_;
  const std::byte* memory_;
  std::map<Part, Digest> digests_;
  std::optional<bool> is_written_back_;  // empty before prepare()
  bool has_new_ = false;
};

}  // namespace remotecl
