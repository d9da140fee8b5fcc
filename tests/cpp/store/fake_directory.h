#pragma once

#include <map>
#include <memory>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/store/directory.h"

namespace remotecl::testing {

// What several stores may share, in memory. Its clock counts what is written and used. Any thread.
class FakeFolder {
 public:
  struct File {
    std::vector<std::byte> bytes;
    std::int64_t used = 0, written = 0;
  };

  Mutex mutex;
  std::map<std::string, File> files GUARDED_BY(mutex);
  std::int64_t clock GUARDED_BY(mutex) = 0;
  bool is_full GUARDED_BY(mutex) = false;
  std::size_t reads GUARDED_BY(mutex) = 0;

  std::size_t count() EXCLUDES(mutex) {
    MutexLock lock(mutex);
    return files.size();
  }
  std::uint64_t size() EXCLUDES(mutex) {
    MutexLock lock(mutex);
    std::uint64_t size = 0;
    for (const auto& [name, file] : files) size += file.bytes.size();
    return size;
  }
};

class FakeDirectory final : public Directory {
 public:
  explicit FakeDirectory(std::shared_ptr<FakeFolder> folder) : folder_(std::move(folder)) {}

  std::vector<Entry> list() override {
    MutexLock lock(folder_->mutex);
    std::vector<Entry> entries;
    for (const auto& [name, file] : folder_->files)
      entries.push_back({name, file.bytes.size(), file.used, file.written});
    return entries;
  }
  std::optional<std::vector<std::byte>> read(const std::string& name, std::size_t size_max) override {
    MutexLock lock(folder_->mutex);
    ++folder_->reads;
    const auto at = folder_->files.find(name);
    if (at == folder_->files.end() || at->second.bytes.size() > size_max) return std::nullopt;
    return at->second.bytes;
  }
  StoredFile open(const std::string&) override { return StoredFile(); }
  std::optional<FileState> write(const std::string& name, Bytes bytes) override {
    MutexLock lock(folder_->mutex);
    if (folder_->is_full) return std::nullopt;
    ++folder_->clock;
    folder_->files[name] = {{bytes.begin(), bytes.end()}, folder_->clock, folder_->clock};
    return FileState{};
  }
  void mark_used(const std::string& name) override {
    MutexLock lock(folder_->mutex);
    const auto at = folder_->files.find(name);
    if (at != folder_->files.end()) at->second.used = ++folder_->clock;
  }
  void remove(const std::string& name) override {
    MutexLock lock(folder_->mutex);
    folder_->files.erase(name);
  }

 private:
  const std::shared_ptr<FakeFolder> folder_;
};

}  // namespace remotecl::testing
