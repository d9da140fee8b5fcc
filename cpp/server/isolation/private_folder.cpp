#include "server/isolation/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "server/program/program_files.h"
#include "server/util/temporary_folder.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

Descriptor open_folder(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

// The folder that contains all session folders of this daemon's user. Others may pass through it to their
// own, but cannot list it. If somebody else has taken the name, it is the temporary folder itself.
fs::path shared_folder() {
  const fs::path parent = temporary_folder();
  const fs::path folder = parent / ("remotecl-sessions-" + std::to_string(::geteuid()));
  if (::mkdir(folder.c_str(), 0700) == 0) ::chmod(folder.c_str(), 0711);
  struct stat status {};
  const bool is_ours = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                       status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
  return is_ours ? folder : parent;
}

void remove_abandoned(const fs::path& shared) {
  if (shared == temporary_folder()) return;
  std::error_code error;
  for (fs::directory_iterator at(shared, error), end; !error && at != end; at.increment(error)) {
    const Descriptor folder = open_folder(at->path());
    if (!folder.valid() || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

PrivateFolder::PrivateFolder() {
  const fs::path shared = shared_folder();
  static std::once_flag first;
  std::call_once(first, remove_abandoned, shared);
  // Another daemon may remove the new folder as abandoned until it is locked; then another one is made.
  for (;;) {
    path_ = (shared / "session-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(),
                              "cannot make a folder for a session in " + shared.string());
    }
    lock_ = open_folder(path_);
    struct stat opened {
    }, named{};
    if (lock_.valid() && ::flock(lock_.get(), LOCK_SH | LOCK_NB) == 0 && ::fstat(lock_.get(), &opened) == 0 &&
        ::lstat(path_.c_str(), &named) == 0 && opened.st_ino == named.st_ino) {
      return;
    }
    if (!lock_.valid() && errno != ENOENT) {
      throw std::system_error(errno, std::generic_category(), "cannot open " + path_);
    }
  }
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace remotecl::server
