#pragma once

#include <cstdint>
#include <utility>

namespace remotecl::server {

// The commands of a session that are traced because the client wants their times. Not synchronised.
class TraceRequest {
 public:
  // Traces the next command, even if it has no event.
  void begin() { number_ = ++traced_; }
  bool is_pending() const { return number_ != 0; }
  // Returns the number of the command that begins now; 0: it is not traced.
  std::uint64_t take() { return std::exchange(number_, 0); }

 private:
  std::uint64_t traced_ = 0;  // traced commands so far
  std::uint64_t number_ = 0;
};

}  // namespace remotecl::server
