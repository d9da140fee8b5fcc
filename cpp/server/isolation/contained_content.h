#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/store/content_store.h"

namespace remotecl::server {

// A contained process's access to the daemon's store. The process has run code of its client, so only contained
// sessions of the same user find what it stores, and where that user may be several people, only those of the same
// owner. Owned by the session; any thread.
class ContainedContent {
 public:
  // `store` must outlive it; null: nothing is stored.
  ContainedContent(ContentStore* store, const std::string& user, bool is_one_person);

  // The first call decides. The process can name only an owner that it knows.
  void set_owner(const Digest& owner) EXCLUDES(mutex_);
  std::optional<std::vector<std::byte>> find(const Digest& key);
  void keep(const Digest& key, Bytes content);
  // Chunks of uploads. keep_upload() stores only what has this digest, whatever the process says.
  StoredContent open_upload(const Digest& digest);
  void doubt_upload(const Digest& digest);
  void keep_upload(const Digest& digest, Bytes content);

 private:
  // How many bytes the session may move in its life. For programs, reads and writes count, because what the process
  // does not receive stays in memory. For uploads, writes count, because they need no network and would wear the disk.
  static constexpr std::uint64_t kProgramsMax = 512u << 20, kUploadsMax = 64ull << 30;

  static bool may_move(std::atomic<std::uint64_t>& moved, std::size_t size, std::uint64_t bound);
  // Null until the owner is known.
  ContentStore* builds() const EXCLUDES(mutex_);
  ContentStore* uploads() const EXCLUDES(mutex_);
  std::string owner() const EXCLUDES(mutex_);

  ContentStore* const store_;
  mutable Mutex mutex_;
  std::string owner_ GUARDED_BY(mutex_);
  bool is_known_ GUARDED_BY(mutex_);  // whose session it is
  bool is_set_ GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> programs_{0}, uploads_{0};  // bytes
};

}  // namespace remotecl::server
