#include "runtime/transport/tls/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/transport/connection.h"

namespace remotecl {
namespace {

// Empty if the file is as private as a secret must be.
std::string objection(const struct stat& file, const std::string& path) {
  const mode_t forbidden = file.st_uid == ::geteuid() ? S_IRWXG | S_IRWXO : S_IWGRP | S_IRWXO;
  if ((file.st_mode & forbidden) == 0) return {};
  return "others may read or change it; run: chmod 600 " + path;
}

std::string read_file(const std::string& path, const std::string& kind, std::size_t size_max, bool is_private) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string why = descriptor < 0 ? std::strerror(errno) : "";
  struct stat file {};
  if (descriptor >= 0) {
    ::fstat(descriptor, &file);
    if (S_ISDIR(file.st_mode)) {
      why = "it is a directory";
    } else if (is_private) {
      why = objection(file, path);
    }
  }
  std::string text;
  char bytes[4096];
  while (why.empty() && text.size() <= size_max) {
    const ssize_t count = ::read(descriptor, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) why = std::strerror(errno);
    if (count <= 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  if (descriptor >= 0) ::close(descriptor);
  if (why.empty() && text.size() > size_max) why = "it has more than " + std::to_string(size_max) + " bytes";
  if (!why.empty()) throw ConnectionError("cannot use the " + kind + " " + path + ": " + why);
  return text;
}

}  // namespace

std::string read_private_file(const std::string& path, const std::string& kind, std::size_t size_max) {
  return read_file(path, kind, size_max, true);
}

std::string read_public_file(const std::string& path, const std::string& kind, std::size_t size_max) {
  return read_file(path, kind, size_max, false);
}

}  // namespace remotecl
