#pragma once

#include <cstdint>

namespace remotecl {

// Watches for the end of a process of this machine. Movable.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  explicit ProcessWatch(std::uint64_t process);
  ~ProcessWatch();
  ProcessWatch(ProcessWatch&& other) noexcept;
  ProcessWatch& operator=(ProcessWatch&& other) noexcept;

  // Also returns false if that cannot be known.
  bool has_ended() const;
  // For poll(): becomes readable when the process has ended. -1 if that cannot be known.
  int handle() const { return descriptor_; }

 private:
  int descriptor_ = -1;  // a pidfd
};

}  // namespace remotecl
