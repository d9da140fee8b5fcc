#include "runtime/greeting/access_token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/transport/connection.h"

namespace remotecl {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Up to the end, or the end of a line. By the byte, so that what follows a line is left to others.
std::string read_text(int descriptor, bool is_line) {
  std::string text;
  char byte = 0;
  while (text.size() <= AccessToken::kSizeMax) {
    const ssize_t count = ::read(descriptor, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || (is_line && byte == '\n')) break;
    text.push_back(byte);
  }
  return text;
}

// Empty for a file that is as private as a secret should be.
std::string objection(const struct stat& file) {
  if (S_ISDIR(file.st_mode)) return "it is a directory";
  const mode_t forbidden = file.st_uid == ::geteuid() ? S_IRWXG | S_IRWXO : S_IWGRP | S_IRWXO;
  if ((file.st_mode & forbidden) != 0) return "others may read or change it; run: chmod 600";
  return {};
}

}  // namespace

AccessToken::AccessToken(std::string_view text, const std::string& origin) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin != std::string_view::npos) text_ = text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
  if (text_.size() < kSizeMin || text_.size() > kSizeMax) {
    throw ConnectionError("the token in " + origin + " must have " + std::to_string(kSizeMin) + " to " +
                          std::to_string(kSizeMax) + " characters; `remotecl keygen` makes one");
  }
}

AccessToken read_token(const std::string& path) {
  if (path == "-") return {read_text(STDIN_FILENO, true), "the first line of the standard input"};
  const auto fail = [&path](const std::string& why) {
    return ConnectionError("cannot use the token file " + path + ": " + why);
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw fail(std::strerror(errno));
  struct stat file {};
  ::fstat(descriptor, &file);
  std::string why = objection(file);
  if (!why.empty()) {
    ::close(descriptor);
    throw fail(why.ends_with("chmod 600") ? why + " " + path : why);
  }
  const std::string text = read_text(descriptor, false);
  ::close(descriptor);
  return {text, path};
}

}  // namespace remotecl
