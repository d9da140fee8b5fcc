#include "server/isolation/contained_content.h"

#include <algorithm>
#include <span>
#include <utility>

namespace remotecl::server {

ContainedContent::ContainedContent(ContentStore* store, const std::string& user, bool is_one_person)
    : store_(store),
      owner_("contained " + user),
      is_known_(is_one_person || (store != nullptr && store->trusts_users())) {}

void ContainedContent::set_owner(const Digest& owner) {
  MutexLock lock(mutex_);
  if (std::exchange(is_set_, true) || is_known_ || owner == Digest{}) return;
  owner_ += '\n';
  owner_ += as_text(std::as_bytes(std::span(owner)));
  is_known_ = true;
}

ContentStore* ContainedContent::builds() const {
  MutexLock lock(mutex_);
  return is_known_ ? store_ : nullptr;
}

ContentStore* ContainedContent::uploads() const {
  ContentStore* const store = builds();
  return store != nullptr ? store->uploads() : nullptr;
}

std::string ContainedContent::owner() const {
  MutexLock lock(mutex_);
  return owner_;
}

bool ContainedContent::may_move(std::atomic<std::uint64_t>& moved, std::size_t size, std::uint64_t bound) {
  constexpr std::uint64_t kLeast = 4096;
  return (moved += std::max<std::uint64_t>(size, kLeast)) <= bound;
}

std::optional<std::vector<std::byte>> ContainedContent::find(const Digest& key) {
  auto content = builds() != nullptr ? store_->find(owner(), key) : std::nullopt;
  return content && may_move(programs_, content->size(), kProgramsMax) ? std::move(content) : std::nullopt;
}

void ContainedContent::keep(const Digest& key, Bytes content) {
  if (builds() != nullptr && may_move(programs_, content.size(), kProgramsMax)) store_->keep(owner(), key, content);
}

StoredContent ContainedContent::open_upload(const Digest& digest) {
  return uploads() != nullptr ? uploads()->open(owner(), digest) : StoredContent();
}

void ContainedContent::doubt_upload(const Digest& digest) {
  if (uploads() != nullptr) uploads()->doubt(owner(), digest);
}

void ContainedContent::keep_upload(const Digest& digest, Bytes content) {
  if (uploads() == nullptr || !may_move(uploads_, content.size(), kUploadsMax)) return;
  if (sha256(content) == digest) uploads()->keep(owner(), digest, content);
}

}  // namespace remotecl::server
