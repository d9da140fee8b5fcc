#include "extras/streams/support/open_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

constexpr mode_t kNewFileMode = 0644;

// The path relative to the folder; empty if it is not below the folder.
std::string below(std::string folder, const std::string& path) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (path == folder) return ".";
  const std::string prefix = folder == "/" ? folder : folder + "/";
  return path.starts_with(prefix) ? path.substr(prefix.size()) : "";
}

int open_below(int folder, const std::string& name, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? kNewFileMode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
}

}  // namespace

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File open_allowed(const Rules& rules, const std::string& kind, const std::string& path, int flags) {
  int error = 0;
  for (const std::string& rule : rules.of(kind)) {
    const File folder(::open(rule.c_str(), O_PATH | O_CLOEXEC));
    const std::string name = below(rule, path);
    if (name.empty() || folder.get() < 0) continue;
    // A rule may name a file.
    const bool is_itself = name == ".";
    const int opened = is_itself && ::faccessat(folder.get(), ".", F_OK, 0) != 0
                           ? ::open(rule.c_str(), (flags & ~O_CREAT) | O_CLOEXEC | O_NOFOLLOW)
                           : open_below(folder.get(), name, flags);
    if (opened >= 0) return File(opened);
    error = errno;
  }
  if (error == 0 || error == EXDEV) {
    throw PluginError(kNotAllowed, "this server does not allow " + path + ": its operator would say --plugin-allow " +
                                       kind + ":FOLDER");
  }
  throw PluginError(kGone, path + ": " + std::strerror(error));
}

}  // namespace remotecl::plugins
