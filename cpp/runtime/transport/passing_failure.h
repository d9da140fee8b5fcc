#pragma once

#include <string>

#include "runtime/transport/connection.h"

namespace remotecl {

// Part of a ConnectionError whose cause may pass: the next attempt may succeed.
struct PassingFailure {
  bool is_of_server = false;  // the other side has shown that it is a server
};

// A connection broke before it was of use.
class BrokenConnection : public ConnectionError, public PassingFailure {
 public:
  explicit BrokenConnection(const std::string& text, bool is_of_server = false)
      : ConnectionError(text), PassingFailure{is_of_server} {}
};

}  // namespace remotecl
