#include "server/util/error_words.h"

#include <new>

namespace remotecl::server {

std::string words_of(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory on the server" : error.what();
}

}  // namespace remotecl::server
