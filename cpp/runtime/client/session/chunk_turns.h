#pragma once

#include <cstdint>

#include "runtime/base/mutex.h"

namespace remotecl {

// Turns of the threads that send over one connection, in the order in which they ask for them: a thread that locks a
// mutex again and again would leave the others none. Any thread.
class ChunkTurns {
 public:
  class Turn {
   public:
    explicit Turn(ChunkTurns& turns) : turns_(turns) { turns_.take(); }
    ~Turn() { turns_.give(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ChunkTurns& turns_;
  };

 private:
  void take() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const std::uint64_t mine = asked_++;
    while (given_ != mine) changed_.wait(mutex_);
  }
  void give() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++given_;
    changed_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t asked_ GUARDED_BY(mutex_) = 0;
  std::uint64_t given_ GUARDED_BY(mutex_) = 0;  // back
};

}  // namespace remotecl
