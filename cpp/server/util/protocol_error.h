#pragma once

#include <stdexcept>

namespace remotecl::server {

// The peer broke the protocol. Its session ends, and what() is the last message that it gets.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace remotecl::server
