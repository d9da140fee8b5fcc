#pragma once

#include <cstdint>

namespace remotecl::server {

// Tells when a process of this machine has ended. A value that can be moved.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  explicit ProcessWatch(std::uint64_t process);
  ~ProcessWatch();
  ProcessWatch(ProcessWatch&& other) noexcept;
  ProcessWatch& operator=(ProcessWatch&& other) noexcept;

  // False also where that cannot be known.
  bool has_ended() const;

 private:
  int descriptor_ = -1;  // a pidfd
};

}  // namespace remotecl::server
