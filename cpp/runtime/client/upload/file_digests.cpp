#include "runtime/client/upload/file_digests.h"

#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/protocol/codec.h"
#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "runtime/store/user_cache.h"

namespace remotecl {
namespace {

constexpr Store::Bounds kBounds{.directory = 64u << 20, .memory = 0};
constexpr std::size_t kPartsMax = 1u << 16;  // of one file; more are not kept

struct KeptDigest {
  std::uint64_t offset, size;
  Digest digest;
  REMOTECL_FIELDS(offset, size, digest)
};

// Null if this user has no folder that is private. Lives as long as the process.
Store* kept_digests() {
  static Store* const store = []() -> Store* {
    try {
      const std::filesystem::path cache = user_cache();
      if (cache.empty()) return nullptr;
      return new Store(std::make_unique<FileDirectory>(cache / "digests"), kBounds, "digests 2");
    } catch (const std::exception&) {
      return nullptr;
    }
  }();
  return store;
}

}  // namespace

std::optional<FileDigests> FileDigests::of(const std::byte* memory, std::uint64_t size) {
  std::optional<MappedFile> file = MappedFile::of({memory, static_cast<std::size_t>(size)});
  if (!file || kept_digests() == nullptr) return std::nullopt;
  FileDigests digests(*std::move(file), memory);
  digests.load();
  return digests;
}

FileDigests::Part FileDigests::part_of(Bytes part) const {
  return {file_.offset + static_cast<std::uint64_t>(part.data() - memory_), part.size()};
}

// The path is no part of it: a file that was moved has the same bytes.
Digest FileDigests::key() const {
  const std::uint64_t state[] = {file_.device, file_.inode, file_.size, static_cast<std::uint64_t>(file_.written_ns),
                                 static_cast<std::uint64_t>(file_.changed_ns)};
  return sha256(std::as_bytes(std::span(state)));
}

void FileDigests::load() {
  const auto content = kept_digests()->find("", key());
  if (!content) return;
  Decoder decoder(*content);
  KeptDigest kept{};
  while (decoder.read(kept)) digests_[{kept.offset, kept.size}] = kept.digest;
}

std::optional<Digest> FileDigests::find(Bytes part) const {
  const auto at = digests_.find(part_of(part));
  return at != digests_.end() && shows_file(part) ? std::optional(at->second) : std::nullopt;
}

void FileDigests::prepare() {
  if (!is_written_back_) is_written_back_ = file_.is_written_back();
}

void FileDigests::add(Bytes part, const Digest& digest) {
  if (!is_written_back_.value_or(false) || digests_.size() >= kPartsMax || !shows_file(part)) return;
  digests_[part_of(part)] = digest;
  has_new_ = true;
}

void FileDigests::keep() {
  if (!has_new_ || !file_.is_unchanged()) return;
  std::vector<std::byte> content;
  for (const auto& [part, digest] : digests_) {
    const KeptDigest kept{part.first, part.second, digest};
    const std::size_t before = content.size();
    content.resize(before + wire::encoded_size(kept));
    std::byte* at = content.data() + before;
    wire::encode(at, kept);
  }
  kept_digests()->keep("", key(), content);
  has_new_ = false;
}

}  // namespace remotecl
