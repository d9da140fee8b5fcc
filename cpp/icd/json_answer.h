#pragma once

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "icd/boundary.h"

// How the functions of remotecl.h answer: with JSON in memory that the caller frees.
namespace remotecl::icd {

inline char* copy(const std::string& text) {
  char* result = static_cast<char*>(std::malloc(text.size() + 1));
  if (result != nullptr) std::memcpy(result, text.c_str(), text.size() + 1);
  return result;
}
inline char* copy(const nlohmann::json& value) {
  // A device name in another encoding must not make the whole answer fail.
  return copy(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// What `body` gives, a value or JSON text; null when it throws, and in a forked child.
template <class Body>
char* answer(Body&& body) noexcept {
  if (in_forked_child()) {
    say_forked();
    return nullptr;
  }
  try {
    return copy(body());
  } catch (...) {
    return nullptr;
  }
}

}  // namespace remotecl::icd
