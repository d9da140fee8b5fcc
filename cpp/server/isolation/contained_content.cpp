#include "server/isolation/contained_content.h"

#include <algorithm>

namespace remotecl::server {

bool ContainedContent::may_move(std::atomic<std::uint64_t>& moved, std::size_t size, std::uint64_t bound) {
  constexpr std::uint64_t kLeast = 4096;
  return (moved += std::max<std::uint64_t>(size, kLeast)) <= bound;
}

std::optional<std::vector<std::byte>> ContainedContent::find(const Digest& key) {
  auto content = store_ != nullptr ? store_->find(owner_, key) : std::nullopt;
  return content && may_move(programs_, content->size(), kProgramsMax) ? std::move(content) : std::nullopt;
}

void ContainedContent::keep(const Digest& key, Bytes content) {
  if (store_ != nullptr && may_move(programs_, content.size(), kProgramsMax)) store_->keep(owner_, key, content);
}

StoredContent ContainedContent::open_upload(const Digest& digest) {
  return uploads() != nullptr ? uploads()->open(owner_, digest) : StoredContent();
}

void ContainedContent::doubt_upload(const Digest& digest) {
  if (uploads() != nullptr) uploads()->doubt(owner_, digest);
}

void ContainedContent::keep_upload(const Digest& digest, Bytes content) {
  if (uploads() == nullptr || !may_move(uploads_, content.size(), kUploadsMax)) return;
  if (sha256(content) == digest) uploads()->keep(owner_, digest, content);
}

}  // namespace remotecl::server
