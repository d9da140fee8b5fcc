#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl::server {

// What a build message says of the client's file system: views into the message.
struct ClientFiles {
  std::string_view options;
  Sequence<IncludeFolder> include_folders;
  Sequence<HeaderFile> headers;
};

// The include files of one build, in a folder of this machine that exists as long as this object.
class PlacedFiles {
 public:
  PlacedFiles() = default;
  PlacedFiles(std::string options, std::string folder, int lock);
  ~PlacedFiles();
  PlacedFiles(PlacedFiles&& other) noexcept;
  PlacedFiles& operator=(PlacedFiles&&) = delete;

  // The application's options and a -I for each include folder.
  const std::string& options() const { return options_; }
  // A build log as if the client's files had been compiled where they are.
  std::string client_log(std::string log) const;

 private:
  friend class ProgramFiles;
  std::string options_;
  std::string folder_;                                      // empty: no files were needed
  int lock_ = -1;                                           // an open descriptor of the folder, locked against removal
  std::vector<std::pair<std::string, std::string>> links_;  // our path, the client's
};

// Keeps other daemons of this user, and other threads of this one, from doing the same at the same time.
class FileLock {
 public:
  FileLock() = default;
  // Waits for the lock; holds none when the file cannot be opened. Calls `while_waiting` now and then, which may throw.
  FileLock(const std::filesystem::path& path, const std::function<void()>& while_waiting);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;

 private:
  int descriptor_ = -1;
};

// Writes what a client's program includes to where the native compiler finds it. Equal files get equal paths,
// also in another run of a daemon: drivers key their caches on the options. Any thread.
class ProgramFiles {
 public:
  // In `folder`, by default TMPDIR or /tmp, under a folder that only this user can enter.
  explicit ProgramFiles(std::filesystem::path folder = {});

  // Throws ProtocolError for a path that is not absolute and plain, std::filesystem::filesystem_error when
  // the disk is full or the like.
  PlacedFiles place(const ClientFiles& files);
  // To be held while a program is linked by a driver whose processes disturb each other.
  FileLock lock_links(const std::function<void()>& while_waiting) const {
    return FileLock(base_ / "link.lock", while_waiting);
  }

 private:
  const std::filesystem::path base_;
};

}  // namespace remotecl::server
