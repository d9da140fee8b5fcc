#pragma once

#include <optional>

#include "runtime/client/commands/pending_command.h"

namespace remotecl {

// Receives the memory that a plan uses. Plans name it to any type that has these functions; a QueuePlacement needs one
// such type.
class MemoryUses {
 public:
  virtual void reads(const MemoryObject& memory, ByteRange range) REQUIRES(kMemoryMutex) = 0;
  virtual void writes(const MemoryObject& memory, ByteRange range) REQUIRES(kMemoryMutex) = 0;
  virtual void has_network(const MemoryObject& network) = 0;

 protected:
  ~MemoryUses() = default;
};

// A plan as a QueuePlacement sees it: a command that may be sent to any member queue.
class CommandPlan {
 public:
  // Names what the command uses, as far as that can be said before it has a device.
  virtual void will_use(MemoryUses& uses) REQUIRES(kMemoryMutex) = 0;
  // What it launches, and on how many work items; null: it is no kernel.
  virtual Kernel* kernel() const = 0;
  virtual double work_items() const = 0;
  // It moves bytes for the queue's next kernels, wherever these bytes are.
  virtual bool prepares_kernels() const = 0;

  struct Choice {
    CommandQueue& member;
    WaitList wait;             // the command's, and what else it has to come after
    bool is_counted = false;   // the server counts that it was placed there
    std::uint64_t sample = 0;  // not 0: its times are to be reported under this number (Tracer::sample_for)
  };
  // Sends the command. If it needs a link first, `missing` names it, and the call is to be repeated; see with_links().
  virtual cl_int send_to(const Choice& choice, std::optional<ServerPair>& missing) = 0;
  // After it was sent: its position in the member queue, and its event or null.
  virtual std::uint64_t sequence() const = 0;
  virtual Event* event() const = 0;

 protected:
  ~CommandPlan() = default;
};

}  // namespace remotecl
