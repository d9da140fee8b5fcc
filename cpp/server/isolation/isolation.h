#pragma once

#include <optional>
#include <string>

#include "server/driver/native_driver.h"

namespace remotecl::server {

// Whether sessions have processes of their own, and why, as words for whoever runs the server.
struct IsolationChoice {
  bool isolates;
  std::string words;
};

// `asked`: what the options say, if anything. `is_open`: to others than this process's user, who have a token, a
// certificate or just the address.
IsolationChoice choose_isolation(std::optional<bool> asked, bool is_open, const NativeDriver& driver);

}  // namespace remotecl::server
