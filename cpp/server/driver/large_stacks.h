#pragma once

#include <pthread.h>

namespace remotecl::server {

// While it lives, threads that are started in this process get large stacks, unless they ask for something else. PoCL
// keeps the private memory of kernels on its threads' stacks, says nothing of its size, and ends the process where it
// does not fit. Stacks take memory as they are used. One thread.
class LargeStacks {
 public:
  LargeStacks();
  ~LargeStacks();
  LargeStacks(const LargeStacks&) = delete;
  LargeStacks& operator=(const LargeStacks&) = delete;

 private:
  pthread_attr_t before_{};
  bool is_changed_ = false;
};

}  // namespace remotecl::server
