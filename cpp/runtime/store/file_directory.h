#pragma once

#include <atomic>
#include <filesystem>

#include "runtime/store/directory.h"

namespace remotecl {

// A folder of the file system that only this user can enter. Follows no symbolic links below it. Any thread.
class FileDirectory final : public Directory {
 public:
  // kNever: after a power cut a file may lack bytes, which a Store notices. Where there are many files, that is
  // cheaper than waiting for the disk each time.
  enum class Sync { kEach, kNever };

  // Makes the folder and its parents. Throws std::runtime_error, which names cause and remedy.
  explicit FileDirectory(const std::filesystem::path& folder, Sync sync = Sync::kEach);
  ~FileDirectory() override;
  FileDirectory(const FileDirectory&) = delete;
  FileDirectory& operator=(const FileDirectory&) = delete;

  // Also removes unfinished files of writers that were killed.
  std::vector<Entry> list() override;
  std::optional<std::vector<std::byte>> read(const std::string& name, std::size_t size_max) override;
  StoredFile open(const std::string& name) override;
  std::optional<FileState> write(const std::string& name, Bytes bytes) override;
  void mark_used(const std::string& name) override;
  void remove(const std::string& name) override;

 private:
  const Sync sync_;
  int folder_ = -1;  // a descriptor
  std::atomic<std::uint64_t> written_{0};
};

}  // namespace remotecl
