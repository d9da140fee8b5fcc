#pragma once

#include <stdexcept>
#include <string>

#include "runtime/client/split/proof/token.h"

namespace remotecl::proof {

// Why nothing is proven of a kernel. Never leaves the room.
class NotProven : public std::runtime_error {
 public:
  NotProven(const Token& at, const std::string& why)
      : std::runtime_error("line " + std::to_string(at.line) + (at.text.empty() ? "" : ", '" + at.text + "'") + ": " +
                           why) {}
  explicit NotProven(const std::string& why) : std::runtime_error(why) {}
};

}  // namespace remotecl::proof
