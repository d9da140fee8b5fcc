#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace remotecl::bench {

// Several copies in this host's memory at once, by a thread each: what bytes cost that go through memory. From a client
// to a daemon that is two copies a byte at best, into the shared memory and out of it. Used by one thread.
class HostCopies {
 public:
  HostCopies(size_t copies, size_t size);
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  // The seconds from the first byte of the first copy to the last byte of the last one.
  double run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    Clock::time_point begin;
    Clock::time_point end;
  };

  void serve(Span& span);

  const size_t size_;
  const size_t turns_;
  std::barrier<> begun_;
  std::barrier<> ended_;
  std::atomic<bool> stopping_{false};
  std::vector<Span> spans_;  // of the copies made last
  std::vector<std::thread> threads_;
};

}  // namespace remotecl::bench
