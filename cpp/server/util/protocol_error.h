#pragma once

#include <stdexcept>

namespace remotecl::server {

// The peer broke the protocol: its session ends, with what() as the last words.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace remotecl::server
