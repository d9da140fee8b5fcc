#pragma once

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/client/support/fork_guard.h"

// How the functions of remotecl.h return JSON to their callers.
namespace remotecl {

// The caller frees the result with remotecl_free(). Null if memory is short.
inline char* copy_json(const std::string& text) {
  char* result = static_cast<char*>(std::malloc(text.size() + 1));
  if (result != nullptr) std::memcpy(result, text.c_str(), text.size() + 1);
  return result;
}

inline char* copy_json(const nlohmann::json& value) {
  // A device name in another encoding must not make the whole result fail.
  return copy_json(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Returns what body() returns, a value or JSON text; null if it fails, and in a forked child.
template <class Body>
char* json_result(Body&& body) noexcept {
  if (in_forked_child()) {
    say_forked();
    return nullptr;
  }
  try {
    return copy_json(body());
  } catch (...) {
    return nullptr;
  }
}

}  // namespace remotecl
