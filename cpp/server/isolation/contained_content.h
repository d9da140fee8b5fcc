#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/store/content_store.h"

namespace remotecl::server {

// A contained process's access to the daemon's store. The process has run code of its user, so only contained sessions
// of the same user find what it stores. Owned by the session; any thread.
class ContainedContent {
 public:
  // `store` must outlive it; null: nothing is stored.
  ContainedContent(ContentStore* store, const std::string& user) : store_(store), owner_("contained " + user) {}

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
  ContentStore* uploads() const { return store_ != nullptr ? store_->uploads() : nullptr; }

  ContentStore* const store_;
  const std::string owner_;
  std::atomic<std::uint64_t> programs_{0}, uploads_{0};  // bytes
};

}  // namespace remotecl::server
