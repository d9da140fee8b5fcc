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

// Memory of this process that bytes are on their way to. They may still be under way when the server has carried out
// the read and goes on, so commands that read or overwrite the memory here wait until they are there. One for the
// process, as the memory is; but what is far apart there has locks of its own, so that transfers of several sessions do
// not wait for each other. Any thread.
class InboundHostRanges {
  struct Waiting {
    std::atomic<int> left{1};  // arrivals, and whoever looks for them
    std::function<void()> function;
  };
  struct Range {
    std::uintptr_t begin, end;
    Mutex mutex;
    bool has_ended GUARDED_BY(mutex) = false;
    std::vector<std::shared_ptr<Waiting>> waiting GUARDED_BY(mutex);
  };

 public:
  using Ticket = std::shared_ptr<Range>;

  static InboundHostRanges& instance();

  Ticket begin(const std::byte* memory, std::uint64_t size);
  // They are there, or will never be.
  void end(const Ticket& ticket);
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }
  // Calls `function` when all that is on its way to this memory now has ended. False, and nothing is called, when
  // nothing is.
  bool when_there(const std::byte* memory, std::uint64_t size, std::function<void()> function);

 private:
  // Memory in blocks of this size belongs to the parts in turn.
  static constexpr std::uintptr_t kBlock = 4u << 20;
  static constexpr std::size_t kParts = 16;

  struct Part {
    Mutex mutex;
    std::multimap<std::uintptr_t, Ticket> arrivals GUARDED_BY(mutex);  // by where they begin
    std::uint64_t size_max GUARDED_BY(mutex) = 0;                      // of those since there were none
  };

  // Calls `function` with each part that the memory lies in.
  template <class Function>
  void for_each_part(std::uintptr_t begin, std::uintptr_t end, Function&& function);

  std::atomic<int> count_{0};
  std::array<Part, kParts> parts_;
};

}  // namespace remotecl
