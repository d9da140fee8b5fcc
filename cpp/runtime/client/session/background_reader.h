#pragma once

#include <poll.h>

#include <memory>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl {

class InboxReader;

// A thread that reads the connections of many sessions while no thread waits for them. A process has up to
// kThreadsMax, so a program with a few servers has one for each, and one with hundreds no more.
//
// Lives as long as the process. Any thread.
class BackgroundReader {
 public:
  static constexpr std::size_t kThreadsMax = 4;

  // The one that reads the fewest sessions, made if need be. Throws std::system_error if the system has no
  // more threads.
  static BackgroundReader& least_loaded();

  // Reads this session until it is lost; then lets it end.
  void add(InboxReader& session) EXCLUDES(mutex_);
  // Makes the thread look at its sessions again.
  void wake() const;

 private:
  // The descriptors that the thread polls for a session, as indices into polled_.
  struct Armed {
    InboxReader* session;
    std::size_t first, last;
  };

  BackgroundReader();
  [[noreturn]] void run();
  // Collects what to poll and returns for how long, in ms.
  int prepare() EXCLUDES(mutex_);
  std::size_t load() const EXCLUDES(mutex_);

  const int wake_;  // an eventfd
  mutable Mutex mutex_;
  std::vector<InboxReader*> sessions_ GUARDED_BY(mutex_);
  // Used by the thread.
  std::vector<pollfd> polled_;
  std::vector<Armed> armed_;
};

}  // namespace remotecl
