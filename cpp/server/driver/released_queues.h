#pragma once

#include <vector>

#include "runtime/base/mutex.h"
#include "server/completion/native.h"

namespace remotecl::server {

// Native queues out of order that their owners no longer need, for a driver that takes a queue apart on the thread that
// ends its last command, and there waits for that thread. They are used again: no event says when that thread has let
// go of the queue. Owned by the device; any thread.
class ReleasedQueues {
 public:
  // `are_kept`: false for a driver that needs none of this.
  explicit ReleasedQueues(bool are_kept) : are_kept_(are_kept) {}
  ReleasedQueues(const ReleasedQueues&) = delete;
  ReleasedQueues& operator=(const ReleasedQueues&) = delete;

  // Takes over the owner's reference to a queue with these properties.
  void add(cl_command_queue queue, cl_command_queue_properties properties) EXCLUDES(mutex_);
  // Passes one whose commands have ended to the caller, or returns null.
  cl_command_queue take(cl_command_queue_properties properties) EXCLUDES(mutex_);
  // For a sub-device, whose queues nobody can use again: releases those whose commands have ended, which have most
  // probably been let go of since then. The others are left to the driver.
  void release_ended() EXCLUDES(mutex_);

 private:
  struct Kept {
    cl_command_queue queue;
    cl_command_queue_properties properties;
    Native<cl_event> end;  // of its last command
  };

  const bool are_kept_;
  Mutex mutex_;
  std::vector<Kept> kept_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
