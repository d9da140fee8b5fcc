#include "runtime/client/upload/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <vector>

namespace remotecl {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;
// By this age the kernel has usually written the file to the disk, so that is_written_back() need not wait for that.
constexpr std::int64_t kWrittenBefore_ns = 60 * kSecond_ns;
// The kernel's clock has coarse ticks.
constexpr std::int64_t kChangedBefore_ns = 2 * kSecond_ns;

std::int64_t in_ns(const timespec& time) { return std::int64_t{time.tv_sec} * kSecond_ns + time.tv_nsec; }

// Whether the file system writes changed pages back and then notes the time. On others, such as those in memory or on a
// network, a change may go unnoticed. On an overlay the path leads to a changed copy, and the memory goes on showing
// the original.
bool notes_changes(const std::string& path) {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return false;
  switch (static_cast<std::uint64_t>(system.f_type) & 0xffff'ffff) {
    case 0xef53:      // ext2, ext3, ext4
    case 0x58465342:  // XFS
    case 0x9123683e:  // Btrfs
    case 0xf2f52010:  // F2FS
      return true;
    default:
      return false;
  }
}

bool take_state(MappedFile& file) {
  struct stat status {};
  if (::stat(file.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.size = static_cast<std::uint64_t>(status.st_size);
  file.written_ns = in_ns(status.st_mtim);
  file.changed_ns = in_ns(status.st_ctim);
  return true;
}

struct FileMapping {
  std::uint64_t begin = 0, end = 0, offset = 0, inode = 0;
  std::string path;
};

// The read-only mapping that covers all of the memory.
std::optional<FileMapping> find_file_mapping(std::uint64_t begin, std::uint64_t end) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    FileMapping mapping;
    char rights[5] = {};
    int path_at = 0;
    const int fields = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
                                   &mapping.begin, &mapping.end, rights, &mapping.offset, &mapping.inode, &path_at);
    if (fields != 5 || end <= mapping.begin || begin >= mapping.end) continue;
    if (rights[0] != 'r' || rights[1] != '-' || begin < mapping.begin || end > mapping.end) return std::nullopt;
    mapping.path = line.substr(static_cast<std::size_t>(path_at));
    if (mapping.inode == 0 || mapping.path.empty() || mapping.path[0] != '/') return std::nullopt;
    return mapping;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MappedFile> MappedFile::of(Bytes memory) {
  const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
  const std::optional<FileMapping> mapping = find_file_mapping(begin, begin + memory.size());
  if (!mapping) return std::nullopt;
  MappedFile file;
  file.path = mapping->path;
  file.offset = mapping->offset + (begin - mapping->begin);
  // The path may name another file by now. (Device numbers are not compared, because they differ on stacked file
  // systems.)
  if (!take_state(file) || file.inode != mapping->inode || !notes_changes(file.path)) return std::nullopt;
  if (file.offset > file.size || memory.size() > file.size - file.offset) return std::nullopt;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const bool is_settled =
      in_ns(now) - file.written_ns > kWrittenBefore_ns && in_ns(now) - file.changed_ns > kChangedBefore_ns;
  return is_settled ? std::optional(file) : std::nullopt;
}

bool MappedFile::is_unchanged() const {
  MappedFile now;
  now.path = path;
  return take_state(now) && now.device == device && now.inode == inode && now.size == size &&
         now.written_ns == written_ns && now.changed_ns == changed_ns;
}

bool MappedFile::is_written_back() const {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  struct stat status {};
  const bool is_done = ::fstat(file, &status) == 0 && status.st_dev == device && status.st_ino == inode &&
                       S_ISREG(status.st_mode) && ::fdatasync(file) == 0;
  ::close(file);
  return is_done && is_unchanged();
}

bool shows_file(Bytes memory) {
  constexpr std::uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62, kOfFile = 1ull << 61;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
  const std::uint64_t first = begin / page, last = (begin + memory.size() - 1) / page;
  std::vector<std::uint64_t> pages(last - first + 1);
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) return false;
  const std::size_t size = pages.size() * sizeof(std::uint64_t);
  const ssize_t count = ::pread(map, pages.data(), size, static_cast<off_t>(first * sizeof(std::uint64_t)));
  ::close(map);
  if (count != static_cast<ssize_t>(size)) return false;
  for (const std::uint64_t flags : pages) {
    if ((flags & (kPresent | kSwapped)) != 0 && (flags & kOfFile) == 0) return false;
  }
  return true;
}

}  // namespace remotecl
