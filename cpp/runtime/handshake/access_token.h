#pragma once

#include <string>

#include "runtime/base/bytes.h"

namespace remotecl {

// A secret that a server's clients know. A value.
class AccessToken {
 public:
  static constexpr std::size_t kSizeMin = 16;
  static constexpr std::size_t kSizeMax = 4096;

  // Uses `text` without the white space around it. Throws ConnectionError, which names `origin`, if it is too
  // short to be a secret, or too long.
  AccessToken(std::string_view text, const std::string& origin);

  Bytes key() const { return as_bytes(text_); }

 private:
  std::string text_;
};

// Reads a file that only its owner may read or change (a file of another owner may be readable by its group),
// or, if `path` is "-", the first line of stdin. Throws ConnectionError that names the cause and the remedy.
AccessToken read_token(const std::string& path);

}  // namespace remotecl
