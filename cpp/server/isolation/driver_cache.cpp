#include "server/isolation/driver_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>

#include "runtime/protocol/codec.h"
#include "runtime/store/stored_file.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

// A kernel may have filled the folder with anything.
constexpr std::size_t kCountMax = 20'000;

struct CachedFile {
  std::string_view path;  // below the folder
  Bytes content;
  REMOTECL_FIELDS(path, content)
};

struct CachedFiles {
  Sequence<CachedFile> files;
  REMOTECL_FIELDS(files)
};

struct FoundFile {
  std::string path;
  std::size_t size;
  std::int64_t used_ns;
};

Digest key() { return sha256(as_bytes(std::string_view("files of drivers 1"))); }

std::int64_t ns_of(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// The files that were used last, sorted by path. Empty ones are temporary, or say nothing but their time.
std::vector<FoundFile> files_in(const fs::path& folder) {
  std::vector<FoundFile> files;
  std::error_code error;
  std::size_t count = 0;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (++count > kCountMax) break;
    struct stat status {};
    if (::lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) continue;
    files.push_back({at->path().lexically_relative(folder).string(), static_cast<std::size_t>(status.st_size),
                     std::max(ns_of(status.st_atim), ns_of(status.st_mtim))});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.used_ns > b.used_ns; });
  std::size_t size = 0;
  std::erase_if(files, [&size](const FoundFile& file) {
    const std::size_t with_it = size + file.size + file.path.size();
    if (with_it <= DriverCache::kSizeMax) size = with_it;
    return with_it > DriverCache::kSizeMax;
  });
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

bool stays_inside(const fs::path& path) {
  return path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

}  // namespace

void DriverCache::introduce(const Digest& owner) {
  store_.introduce(owner);
  if (!former_.empty()) return;
  auto found = store_.find({}, key());
  if (!found) return;
  former_ = std::move(*found);
  unpack(former_);
}

void DriverCache::save() {
  const std::vector<std::byte> packed = pack();
  if (!packed.empty() && packed != former_) store_.keep({}, key(), packed);
}

std::vector<std::byte> DriverCache::pack() const {
  const std::vector<FoundFile> found = files_in(folder_);
  std::vector<std::vector<std::byte>> contents;
  std::vector<CachedFile> files;
  contents.reserve(found.size());
  for (const FoundFile& file : found) {
    const StoredFile opened(::open((folder_ / file.path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::vector<std::byte> content(file.size);
    if (!opened.valid() || !opened.read(0, content)) continue;
    files.push_back({file.path, contents.emplace_back(std::move(content))});
  }
  if (files.empty()) return {};
  const CachedFiles all{std::span<const CachedFile>(files)};
  std::vector<std::byte> packed(wire::encoded_size(all));
  std::byte* at = packed.data();
  wire::encode(at, all);
  return packed;
}

void DriverCache::unpack(Bytes packed) const {
  CachedFiles all;
  Decoder decoder(packed);
  if (!decoder.read(all)) return;
  all.files.for_each([this](const CachedFile& file) {
    if (!stays_inside(file.path)) return;
    const fs::path path = folder_ / file.path;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    const fs::path part = path.string() + ".remotecl";  // the driver may be looking for the file already
    StoredFile made(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700));
    if (made.valid() && made.write(file.content) && made.close()) fs::rename(part, path, error);
    fs::remove(part, error);
  });
}

}  // namespace remotecl::server
