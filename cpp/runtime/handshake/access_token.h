#pragma once

#include <string>

#include "runtime/base/bytes.h"

namespace remotecl {

// What the clients of a server know and strangers do not. A value.
class AccessToken {
 public:
  static constexpr std::size_t kSizeMin = 16;
  static constexpr std::size_t kSizeMax = 4096;

  // `text` without the blanks and line ends around it. Throws ConnectionError, which names `origin`, when it is too
  // short to be a secret, or too long.
  AccessToken(std::string_view text, const std::string& origin);

  Bytes key() const { return as_bytes(text_); }

 private:
  std::string text_;
};

// Reads a file that nobody but its owner may read or change (its group may read what belongs to somebody else), or,
// where `path` is "-", the first line of the standard input. Throws ConnectionError that names cause and remedy.
AccessToken read_token(const std::string& path);

}  // namespace remotecl
