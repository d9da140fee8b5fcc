#include "server/program/program_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/crypto/digest.h"
#include "server/program/device_identity.h"
#include "server/util/descriptor.h"
#include "server/util/format.h"
#include "server/util/protocol_error.h"
#include "server/util/temporary_folder.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPathSizeMax = 4096;
constexpr int kAttemptsMax = 800;  // enough while others make and remove the folder, or for a hundred other names

// Of the digest of the files. Only names a folder; the content is always compared.
std::uint64_t number_of(const ClientFiles& files) {
  std::string text;
  files.headers.for_each([&text](const HeaderFile& header) {
    const Digest content = sha256(header.content);
    add_part(text, header.path);
    add_part(text, as_text(std::as_bytes(std::span(content))));
  });
  files.include_folders.for_each([&text](const IncludeFolder& folder) { add_part(text, folder.path); });
  const Digest digest = sha256(as_bytes(text));
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number;
}

// Converts a path of the client to one below the server's folder.
fs::path relative_path(std::string_view text) {
  const fs::path path(text);
  bool plain = path.is_absolute() && text.size() <= kPathSizeMax && text.find('\0') == std::string_view::npos;
  for (const auto& part : path) plain = plain && part != "..";
  if (!plain) throw ProtocolError("\"" + std::string(text.substr(0, 200)) + "\" is no plain absolute path");
  return path.lexically_normal().relative_path();
}

void write_file(const fs::path& path, Bytes content) {
  fs::create_directories(path.parent_path());
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) {
    throw fs::filesystem_error("cannot write", path,
                               std::error_code(errno != 0 ? errno : EIO, std::generic_category()));
  }
}

bool has_content(const fs::path& path, Bytes content) {
  std::error_code error;
  if (fs::file_size(path, error) != content.size() || error) return false;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> found(content.size());
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  return file && std::memcmp(found.data(), content.data(), content.size()) == 0;
}

std::string link_name(std::size_t index) { return ".include-" + std::to_string(index); }

void write_tree(const fs::path& root, const ClientFiles& files) {
  files.headers.for_each(
      [&](const HeaderFile& header) { write_file(root / relative_path(header.path), header.content); });
  std::size_t index = 0;
  files.include_folders.for_each([&](const IncludeFolder& folder) {
    fs::create_directories(root / relative_path(folder.path));
    if (breaks_options(folder.path)) fs::create_directory_symlink(relative_path(folder.path), root / link_name(index));
    ++index;
  });
}

bool holds_tree(const fs::path& root, const ClientFiles& files) {
  bool same = true;
  files.headers.for_each(
      [&](const HeaderFile& header) { same = same && has_content(root / relative_path(header.path), header.content); });
  files.include_folders.for_each(
      [&](const IncludeFolder& folder) { same = same && fs::is_directory(root / relative_path(folder.path)); });
  return same;
}

// Locks the folder against removal. Returns -1 if it does not exist. Throws if no descriptor is left.
int lock_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0 && (errno == EMFILE || errno == ENFILE)) {
    throw fs::filesystem_error("cannot open a folder", folder, std::error_code(errno, std::generic_category()));
  }
  if (descriptor < 0) return -1;
  struct stat opened {
  }, named{};
  if (::flock(descriptor, LOCK_SH) == 0 && ::fstat(descriptor, &opened) == 0 && ::lstat(folder.c_str(), &named) == 0 &&
      opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
    return descriptor;
  }
  ::close(descriptor);
  return -1;
}

fs::path scratch_folder(const fs::path& base) {
  std::string name = (base / "new-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw fs::filesystem_error("cannot make a folder", base, std::error_code(errno, std::generic_category()));
  }
  return name;
}

// Returns false, with errno, if there is no such folder that no other user can have prepared.
bool make_private(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 077) == 0;
}

// In a contained process, which works in its temporary folder, all paths are relative to it: that folder has another
// name each time, and drivers use the options as keys of what they keep for later processes.
fs::path private_folder(const fs::path& parent) {
  std::error_code error;
  fs::path relative = "remotecl-programs";
  if (fs::equivalent(parent, ".", error) && make_private(relative)) return relative;
  fs::path folder = parent / ("remotecl-" + std::to_string(::geteuid()));
  return make_private(folder) ? folder : scratch_folder(parent);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

WrittenFiles::WrittenFiles(std::string options, std::string folder, int lock)
    : options_(std::move(options)), folder_(std::move(folder)), lock_(lock) {}

WrittenFiles::WrittenFiles(WrittenFiles&& other) noexcept
    : options_(std::move(other.options_)),
      source_(std::move(other.source_)),
      folder_(std::move(other.folder_)),
      lock_(std::exchange(other.lock_, -1)),
      links_(std::move(other.links_)) {}

WrittenFiles::~WrittenFiles() {
  if (lock_ < 0) return;
  // The last user of the folder removes it. It is renamed first, so that nobody finds it meanwhile.
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) {
    std::error_code error;
    const fs::path removed = folder_ + ".old-" + std::to_string(::getpid()) + "-" + std::to_string(lock_);
    fs::rename(folder_, removed, error);
    if (!error) fs::remove_all(removed, error);
  }
  ::close(lock_);
}

std::string WrittenFiles::client_log(std::string log) const {
  if (folder_.empty()) return log;
  for (const auto& [ours, theirs] : links_) replace_all(log, ours, theirs);
  replace_all(log, folder_, "");
  return log;
}

// Polls, because only a blocking call reports the release of such a lock, and that would wait beyond the end
// of its session.
FileLock::FileLock(const fs::path& path, const std::function<void()>& while_waiting) {
  constexpr std::chrono::milliseconds kPause{5};
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && (errno == EINTR || errno == EWOULDBLOCK)) {
    while_waiting();
    std::this_thread::sleep_for(kPause);
  }
  descriptor_ = file.release();
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ProgramFiles::ProgramFiles(fs::path folder)
    : base_(private_folder(folder.empty() ? temporary_folder() : std::move(folder))) {}

WrittenFiles ProgramFiles::write(const ClientFiles& files) {
  std::string options(files.options);
  if (files.headers.empty() && files.include_folders.empty()) return {std::move(options), {}, -1};
  std::set<fs::path> paths;
  files.headers.for_each([&](const HeaderFile& header) {
    // A folder cannot hold two contents of one header.
    if (!paths.insert(relative_path(header.path)).second) {
      throw ProtocolError("the header \"" + std::string(header.path.substr(0, 200)) + "\" is sent twice");
    }
  });
  files.include_folders.for_each([](const IncludeFolder& folder) { relative_path(folder.path); });
  // What cleans up temporary files may have removed it since the daemon began.
  if (!make_private(base_)) {
    throw fs::filesystem_error("cannot use a folder", base_, std::error_code(errno, std::generic_category()));
  }
  const std::uint64_t number = number_of(files);
  fs::path folder;
  int lock = -1;
  for (int attempt = 0; lock < 0; ++attempt) {
    if (attempt > kAttemptsMax) {
      throw fs::filesystem_error("cannot use a folder", folder, std::error_code(EBUSY, std::generic_category()));
    }
    folder = base_ / format_text("{}-{}", number, attempt / 8);
    if (!fs::is_directory(folder)) {
      const fs::path made = scratch_folder(base_);
      std::error_code error;
      try {
        write_tree(made, files);
        fs::rename(made, folder, error);  // fails if another process was faster
      } catch (...) {
        fs::remove_all(made, error);
        throw;
      }
      if (error) fs::remove_all(made, error);
    }
    lock = lock_folder(folder);
    if (lock < 0 || holds_tree(folder, files)) continue;
    ::close(lock);
    lock = -1;
    attempt += 7;  // other files with the same number: try another name
  }
  WrittenFiles written({}, folder.string(), lock);
  std::size_t index = 0;
  files.include_folders.for_each([&](const IncludeFolder& include) {
    std::string path = (folder / relative_path(include.path)).string();
    if (breaks_options(include.path)) {
      path = (folder / link_name(index)).string();
      written.links_.emplace_back(path, std::string(include.path));
    }
    if (!options.empty()) options += ' ';
    options += "-I " + path;
    ++index;
  });
  written.options_ = std::move(options);
  return written;
}

FileLock ProgramFiles::lock_links(const std::function<void()>& while_waiting) const {
  return make_private(base_) ? FileLock(base_ / "link.lock", while_waiting) : FileLock();
}

}  // namespace remotecl::server
