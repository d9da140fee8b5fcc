#pragma once

#include <cstdint>
#include <utility>

namespace remotecl::server {

// Which of a session's commands the client wants the times of. Needs the session's lock.
class TraceRequest {
 public:
  // The next command is traced, even if it has no event.
  void begin() { number_ = ++traced_; }
  bool is_pending() const { return number_ != 0; }
  // The number of the command that begins now; 0: it is not traced.
  std::uint64_t take() { return std::exchange(number_, 0); }

 private:
  std::uint64_t traced_ = 0;  // commands so far
  std::uint64_t number_ = 0;
};

}  // namespace remotecl::server
