#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl::server {

// A build message's part about the client's file system: views into the message.
struct ClientFiles {
  std::string_view options;
  Sequence<IncludeFolder> include_folders;
  Sequence<HeaderFile> headers;
};

// The include files of one build, in a folder of this machine that exists as long as this object.
class WrittenFiles {
 public:
  WrittenFiles() = default;
  WrittenFiles(std::string options, std::string folder, int lock);
  ~WrittenFiles();
  WrittenFiles(WrittenFiles&& other) noexcept;
  WrittenFiles& operator=(WrittenFiles&&) = delete;

  // The application's options and a -I for each include folder.
  const std::string& options() const { return options_; }
  // What is compiled in place of the program's own source; nullopt: that one. Set before others use this object.
  void set_source(std::optional<std::string> source) { source_ = std::move(source); }
  const std::optional<std::string>& source() const { return source_; }
  // Converts a build log to the client's own paths.
  std::string client_log(std::string log) const;

 private:
  friend class ProgramFiles;
  std::string options_;
  std::optional<std::string> source_;
  std::string folder_;                                      // empty: no files were needed
  int lock_ = -1;                                           // an open descriptor of the folder, locked against removal
  std::vector<std::pair<std::string, std::string>> links_;  // the server's path, the client's path
};

// Excludes other daemons of this user, and other threads of this daemon, from doing the same at the same
// time.
class FileLock {
 public:
  FileLock() = default;
  // Waits for the lock. Holds none if the file cannot be opened. Repeatedly calls `while_waiting`, which may
  // throw.
  FileLock(const std::filesystem::path& path, const std::function<void()>& while_waiting);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;

 private:
  int descriptor_ = -1;
};

// Writes the files that a client's program includes to where the native compiler finds them. Equal files get
// equal paths, even in another run of a daemon or another process of a session, because drivers use the options as keys
// of their caches. Any thread. The process must not change its working folder.
class ProgramFiles {
 public:
  // Uses a folder that only this user can enter, in `folder`, by default TMPDIR or /tmp.
  explicit ProgramFiles(std::filesystem::path folder = {});

  // Throws ProtocolError for a path that is not absolute and plain, and std::filesystem::filesystem_error if,
  // for example, the disk is full.
  WrittenFiles write(const ClientFiles& files);
  // Held while a program is linked by a driver whose processes disturb each other.
  FileLock lock_links(const std::function<void()>& while_waiting) const;

 private:
  const std::filesystem::path base_;
};

}  // namespace remotecl::server
