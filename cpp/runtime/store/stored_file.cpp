#include "runtime/store/stored_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace remotecl {

StoredFile& StoredFile::operator=(StoredFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

int StoredFile::release() { return std::exchange(descriptor_, -1); }

bool StoredFile::close() { return descriptor_ < 0 || ::close(release()) == 0; }

std::optional<FileState> StoredFile::state() const {
  struct stat status {};
  if (!valid() || ::fstat(descriptor_, &status) != 0) return std::nullopt;
  const bool is_ours = S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  return FileState{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                   std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec, is_ours};
}

bool StoredFile::read(std::uint64_t offset, MutableBytes to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool StoredFile::write(Bytes bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace remotecl
