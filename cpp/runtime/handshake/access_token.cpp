#include "runtime/handshake/access_token.h"

#include <unistd.h>

#include <cerrno>

#include "runtime/transport/connection.h"
#include "runtime/transport/tls/private_file.h"

namespace remotecl {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Reads single bytes, so that what follows the line is left for others.
std::string read_first_line() {
  std::string text;
  char byte = 0;
  while (text.size() <= AccessToken::kSizeMax) {
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || byte == '\n') break;
    text.push_back(byte);
  }
  return text;
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
  if (path == "-") return {read_first_line(), "the first line of the standard input"};
  return {read_private_file(path, "token file", 2 * AccessToken::kSizeMax), path};
}

}  // namespace remotecl
