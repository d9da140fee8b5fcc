#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/transport/connection.h"
#include "runtime/transport/shm/shared_memory_segment.h"

namespace remotecl {

// Two ends in this process.
std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> make_memory_pair(
    std::size_t ring_bytes = SharedMemorySegment::kRingBytes);

// A process of its own, another program, at the other end of a connection through memory.
class MemoryPeer {
 public:
  // "echo": sends back what it reads. "silent": neither reads nor writes.
  explicit MemoryPeer(const std::string& task, std::size_t ring_bytes = SharedMemorySegment::kRingBytes);
  ~MemoryPeer();  // kills it, if nobody has
  MemoryPeer(const MemoryPeer&) = delete;
  MemoryPeer& operator=(const MemoryPeer&) = delete;

  Connection& connection() { return *connection_; }
  void kill();
  int wait();  // for its end by itself: the exit status

 private:
  pid_t process_ = -1;
  std::unique_ptr<Connection> connection_;
};

}  // namespace remotecl
