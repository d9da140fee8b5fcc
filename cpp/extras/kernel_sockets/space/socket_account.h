#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// Counts the sockets, bytes and memory of a user's networks against their limits. This one has no limits. Any thread.
class SocketAccount : public RefCounted {
 public:
  // For each socket that connects, listens or is accepted. Returns false if there would be too many; the kernel
  // gets -EMFILE.
  virtual bool open_socket() { return true; }
  virtual void close_socket() {}
  // Memory of this process for bytes between kernels. Returns false if it would be too much; the kernel gets -EMFILE.
  virtual bool hold_memory(std::uint64_t size) {
    static_cast<void>(size);
    return true;
  }
  virtual void free_memory(std::uint64_t size) { static_cast<void>(size); }
  // Bytes were sent or received. No more are moved while there is debt.
  virtual void pay(std::uint64_t bytes) { static_cast<void>(bytes); }
  virtual std::chrono::nanoseconds debt() const { return std::chrono::nanoseconds::zero(); }
};

}  // namespace remotecl::server
