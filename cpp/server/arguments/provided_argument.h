#pragma once

#include "server/memory/memory.h"

namespace remotecl::server {

// An argument of kernels that is no buffer: memory of one device, in which a running kernel and this process work
// together. No other command finds it. Its last owner may have to wait for threads, so it must not hold the session's
// lock.
class ProvidedArgument : public Memory {
 public:
  using Memory::Memory;

  // Called before a command that uses it can begin, and after the command has ended. Any thread.
  virtual void command_begins() = 0;
  virtual void command_ended() = 0;
  // Ends all present and future waits of kernels, with an error. Does not block.
  virtual void stop() = 0;
};

}  // namespace remotecl::server
