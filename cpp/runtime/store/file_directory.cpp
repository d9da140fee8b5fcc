#include "runtime/store/file_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "runtime/crypto/secret.h"

namespace remotecl {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kUnfinished = ".new-";
constexpr std::time_t kAbandonedAfter_s = 3600;

[[noreturn]] void fail(const std::string& words) { throw std::runtime_error(words); }

std::string reason() { return std::strerror(errno); }

// Creates missing folders for this user alone, whatever the umask is.
void make_folders(const fs::path& folder) {
  fs::path path;
  for (const fs::path& part : folder) {
    path /= part;
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const std::string why = reason();
    std::error_code error;
    if (!fs::is_directory(path, error)) fail("cannot make the folder " + path.string() + ": " + why);
  }
}

std::int64_t in_ns(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileDirectory::FileDirectory(const fs::path& folder, Sync sync) : sync_(sync) {
  make_folders(folder);
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_ < 0) fail("cannot open the folder " + folder.string() + ": " + reason());
  struct stat status {};
  const bool is_ours = ::fstat(folder_, &status) == 0 && status.st_uid == ::geteuid();
  if (is_ours && (status.st_mode & 077) == 0) return;
  ::close(folder_);
  fail(is_ours ? "others can enter the folder " + folder.string() + ": make it private with chmod 700"
               : "the folder " + folder.string() + " belongs to another user");
}

FileDirectory::~FileDirectory() { ::close(folder_); }

std::vector<Directory::Entry> FileDirectory::list() {
  std::vector<Entry> entries;
  // Uses its own descriptor, because the reading position belongs to the descriptor.
  const int own = ::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const names = own < 0 ? nullptr : ::fdopendir(own);
  if (names == nullptr) {
    if (own >= 0) ::close(own);
    return entries;
  }
  const std::time_t now = std::time(nullptr);
  while (const dirent* const each = ::readdir(names)) {
    const std::string_view name = each->d_name;
    struct stat status {};
    if (::fstatat(folder_, each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (!name.starts_with('.')) {
      const std::int64_t written_ns = in_ns(status.st_mtim), used_ns = std::max(written_ns, in_ns(status.st_atim));
      entries.push_back({std::string(name), static_cast<std::uint64_t>(status.st_size), used_ns, written_ns});
    } else if (name.starts_with(kUnfinished) && now - status.st_mtim.tv_sec > kAbandonedAfter_s) {
      ::unlinkat(folder_, each->d_name, 0);
    }
  }
  ::closedir(names);
  return entries;
}

StoredFile FileDirectory::open(const std::string& name) {
  return StoredFile(::openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

std::optional<std::vector<std::byte>> FileDirectory::read(const std::string& name, std::size_t size_max) {
  const StoredFile file = open(name);
  const auto state = file.state();
  if (!state || !state->is_ours || state->size > size_max) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(state->size));
  if (!file.read(0, bytes)) return std::nullopt;
  return bytes;
}

std::optional<FileState> FileDirectory::write(const std::string& name, Bytes bytes) {
  // A name that no other process uses. Process ids would repeat across containers that share a folder.
  std::uint64_t salt = 0;
  fill_random(std::as_writable_bytes(std::span(&salt, 1)));
  const std::string unfinished = std::string(kUnfinished) + std::to_string(salt) + "-" + std::to_string(++written_);
  StoredFile file(::openat(folder_, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return std::nullopt;
  // Whoever changes the file later gives it another time, even within the same tick of the kernel's clock.
  timespec times[2] = {};
  ::clock_gettime(CLOCK_REALTIME, &times[0]);
  times[1] = {times[0].tv_sec - 1, times[0].tv_nsec};
  // The bytes must reach the disk before the name does.
  const bool is_whole = file.write(bytes) && ::futimens(file.descriptor(), times) == 0 &&
                        (sync_ == Sync::kNever || ::fsync(file.descriptor()) == 0);
  const std::optional<FileState> state = file.state();
  if (file.close() && is_whole && ::renameat(folder_, unfinished.c_str(), folder_, name.c_str()) == 0) return state;
  ::unlinkat(folder_, unfinished.c_str(), 0);
  return std::nullopt;
}

// Leaves the time of the last write alone, by which a file that was changed is recognized.
void FileDirectory::mark_used(const std::string& name) {
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ::utimensat(folder_, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

void FileDirectory::remove(const std::string& name) { ::unlinkat(folder_, name.c_str(), 0); }

}  // namespace remotecl
