#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl {

// Memory of this process into which bytes are being received. They may still be arriving when the server has
// executed the read and goes on, so commands here that read or overwrite the memory wait for them. There is
// one for the process, as there is one memory. Distant parts of the memory have separate locks, so that
// transfers of several sessions do not wait for each other. Any thread.
class InboundHostRanges {
  struct Waiting {
    std::atomic<int> left{1};  // pending transfers, plus 1 while when_there() looks for them
    std::function<void()> function;
  };
  struct Range {
    std::uintptr_t begin, end;
    std::atomic<std::size_t> left{1};  // its own transfer, and the ranges in whose place it stands
    Mutex mutex;
    bool has_ended GUARDED_BY(mutex) = false;
    std::vector<std::shared_ptr<Waiting>> waiting GUARDED_BY(mutex);
    std::shared_ptr<Range> replacement GUARDED_BY(mutex);
  };

 public:
  using Ticket = std::shared_ptr<Range>;

  static InboundHostRanges& instance();

  Ticket begin(const std::byte* memory, std::uint64_t size) { return begin(memory, size, false); }
  // The same for a transfer that begins after all that are pending for this memory. It stands for those that are within
  // its range until they, too, have ended, so that nobody has to wait for each of them.
  Ticket begin_after_pending(const std::byte* memory, std::uint64_t size) { return begin(memory, size, true); }
  // The bytes have arrived, or will never arrive.
  void end(const Ticket& ticket);
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }
  // Calls `function` when all transfers that are now pending for this memory have ended. Returns false and
  // calls nothing if there are none.
  bool when_there(const std::byte* memory, std::uint64_t size, std::function<void()> function);

 private:
  // The size of the blocks of memory that are assigned to the parts in turn.
  static constexpr std::uintptr_t kBlock = 4u << 20;
  static constexpr std::size_t kParts = 16;

  struct Part {
    Mutex mutex;
    std::multimap<std::uintptr_t, Ticket> arrivals GUARDED_BY(mutex);  // by their beginning; without replaced ones
    std::uint64_t size_max GUARDED_BY(mutex) = 0;                      // the largest since the part was last empty
  };

  Ticket begin(const std::byte* memory, std::uint64_t size, bool replaces);
  void replace(Part& part, const Ticket& by) REQUIRES(part.mutex);
  // All that the range stands for has ended. Returns the range that stands for it, or null.
  Ticket finish(const Ticket& ticket);
  // Calls `function` with each part that the memory belongs to.
  template <class Function>
  void for_each_part(std::uintptr_t begin, std::uintptr_t end, Function&& function);

  std::atomic<int> count_{0};
  std::array<Part, kParts> parts_;
};

}  // namespace remotecl
