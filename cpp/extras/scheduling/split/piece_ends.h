#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/host_time.h"
#include "runtime/base/mutex.h"
#include "runtime/client/objects/event.h"

namespace remotecl {

// Ends of pieces, in their order. Shared with the events, because the last ones end when nobody is interested any more.
// Any thread.
class PieceEnds {
 public:
  struct End {
    std::size_t piece;
    std::uint64_t time_ns;
  };

  // Notes the end of the event as that of a piece.
  static void note(const std::shared_ptr<PieceEnds>& ends, Event& event, std::size_t piece) {
    if (!event.at_end([ends, piece] { ends->add(piece); })) ends->add(piece);
  }

  // Blocks until there are any.
  std::vector<End> take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (ends_.empty()) changed_.wait(mutex_);
    return std::exchange(ends_, {});
  }

 private:
  void add(std::size_t piece) EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      ends_.push_back({piece, host_time_ns()});
    }
    changed_.notify_one();
  }

  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<End> ends_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
