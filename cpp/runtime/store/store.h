#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/store/content_store.h"
#include "runtime/store/directory.h"

namespace remotecl {

// Content that outlives the process. All of it is in a Directory, the most recently used part also in memory.
// When the bounds are exceeded, content is removed in the order of its kind (Eviction). Several processes may use
// one Directory. No lock is held during calls of the Directory. Any thread.
class Store final : public ContentStore {
 public:
  static constexpr std::size_t kContentSizeMax = 32u << 20;  // of one entry

  // Stores of different kinds share a Directory, each within bounds of its own, and find nothing of each other.
  enum class Kind { kBuilds, kUploads };

  struct Bounds {
    std::uint64_t directory = 1u << 30;  // bytes
    std::uint64_t memory = 32u << 20;
  };
  struct Counts {
    std::uint64_t entries = 0, bytes = 0;  // in the directory, as far as this process knows
    std::uint64_t hits = 0, misses = 0;
    std::uint64_t hit_bytes = 0;  // of open()
    std::uint64_t damaged = 0;    // entries removed because their content was damaged
    std::uint64_t failed = 0;     // contents that could not be written
  };

  // Whether each owner finds only what is their own. An owner is a kind, a space and a name, and where several people
  // have that name, the end of a line and what tells one of them apart. They find nothing of each other, but have one
  // owner's room. kTogether: those of one kind are one.
  enum class Owners { kApart, kTogether };

  // `realm`: stores of different realms never find each other's content, even in one directory.
  Store(std::unique_ptr<Directory> directory, const Bounds& bounds, std::string_view realm = {},
        Kind kind = Kind::kBuilds, Owners owners = Owners::kApart);
  // The store that uploads() names. Call it before anything else.
  void add_uploads(std::unique_ptr<Store> uploads) { uploads_ = std::move(uploads); }

  // Content from the directory is verified before it is returned.
  std::optional<std::vector<std::byte>> find(const std::string& owner, const Digest& key) override EXCLUDES(mutex_);
  void keep(const std::string& owner, const Digest& key, Bytes content) override EXCLUDES(mutex_);
  // Verifies the content only if the file is not in the state in which it was written or last verified here.
  StoredContent open(const std::string& owner, const Digest& key) override EXCLUDES(mutex_);
  void doubt(const std::string& owner, const Digest& key) override EXCLUDES(mutex_);
  // The content of an entry's file that a store has opened, in this process or another one, and its checksum there.
  static StoredContent content_of(StoredFile file, const std::optional<FileState>& state, std::uint64_t checksum);
  Store* uploads() override { return uploads_.get(); }
  bool trusts_users() const override { return owners_ == Owners::kTogether; }

  Counts counts() const EXCLUDES(mutex_);

  // The name of an entry in the directory: "u" for uploads, 16 digits that distinguish owners, and 64 digits for
  // owner and key.
  std::string name_of(const std::string& owner, const Digest& key) const;

 private:
  struct Recent {
    std::string name;
    std::vector<std::byte> content;
  };
  using RecentList = std::list<Recent>;
  struct Verified {
    FileState state;  // in which the content was right
    std::uint64_t checksum;
  };

  void remember(const std::string& name, Bytes content) EXCLUDES(mutex_);
  void forget_entry(const std::string& name, bool is_damaged) EXCLUDES(mutex_);
  void note_entry(const std::string& name, std::uint64_t size) REQUIRES(mutex_);
  // Empty if the content is not right.
  std::optional<std::uint64_t> verified_checksum(const std::string& name, const StoredFile& file,
                                                 const FileState& state) EXCLUDES(mutex_);
  void trim() EXCLUDES(mutex_);

  const std::unique_ptr<Directory> directory_;
  const Bounds bounds_;
  const std::string realm_;
  const Kind kind_;
  const Owners owners_;
  std::unique_ptr<Store> uploads_;

  mutable Mutex mutex_;
  std::map<std::string, std::uint64_t> sizes_ GUARDED_BY(mutex_);  // of the known entries
  std::map<std::string, Verified> verified_ GUARDED_BY(mutex_);
  std::uint64_t written_ GUARDED_BY(mutex_) = 0;  // since the directory was last listed
  bool trims_ GUARDED_BY(mutex_) = false;
  RecentList recent_ GUARDED_BY(mutex_);  // the most recently used first
  std::map<std::string_view, RecentList::iterator> recent_by_name_ GUARDED_BY(mutex_);
  std::uint64_t recent_size_ GUARDED_BY(mutex_) = 0;
  Counts counts_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
