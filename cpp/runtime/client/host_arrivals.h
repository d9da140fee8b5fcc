#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace remotecl {

// Memory of this process that bytes are on their way to. They may still be under way when the server has carried out
// the read and goes on, so commands that read or overwrite the memory here wait until they are there. One for the
// process; any thread.
class HostArrivals {
  struct Waiting {
    std::atomic<int> left{0};
    std::function<void()> function;
  };
  struct Arrival {
    std::uint64_t size;
    std::vector<std::shared_ptr<Waiting>> waiting;
  };
  using Arrivals = std::multimap<std::uintptr_t, Arrival>;  // by address

 public:
  using Ticket = Arrivals::iterator;

  static HostArrivals& instance();

  Ticket begin(const std::byte* memory, std::uint64_t size);
  // They are there, or will never be.
  void end(Ticket ticket);
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }
  // Calls `function` when all that is on its way to this memory now has ended. False, and nothing is called, when
  // nothing is.
  bool when_there(const std::byte* memory, std::uint64_t size, std::function<void()> function);

 private:
  std::atomic<int> count_{0};
  std::mutex mutex_;
  Arrivals arrivals_;
  std::uint64_t size_max_ = 0;  // of those since there were none
};

}  // namespace remotecl
