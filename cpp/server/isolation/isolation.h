#pragma once

#include <optional>
#include <string>

#include "server/driver/native_driver.h"

namespace remotecl::server {

// Whether sessions have processes of their own, and why, as text for the server's operator.
struct IsolationChoice {
  bool isolates;
  std::string words;
};

// `asked`: what the options say, if anything. `is_open`: whether others than this process's user can connect,
// by token, certificate or address.
IsolationChoice choose_isolation(std::optional<bool> asked, bool is_open, const NativeDriver& driver);

}  // namespace remotecl::server
