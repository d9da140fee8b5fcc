#pragma once

#include <cstdint>

namespace remotecl {

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
  // For poll(): readable when it has ended. -1 where that cannot be known.
  int handle() const { return descriptor_; }

 private:
  int descriptor_ = -1;  // a pidfd
};

}  // namespace remotecl
