#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// What a session has had. Shared by the session and its memory objects, which may outlive it for a moment. Any thread
// reads; who writes is said below.
class SessionCounters final : public RefCounted {
 public:
  explicit SessionCounters(std::size_t devices) : memory_(devices) {}

  // With the session's lock.
  void count_command() { add_one(commands_); }
  void count_message() { add_one(messages_); }
  std::uint64_t commands() const { return commands_.load(std::memory_order_relaxed); }
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

  // Bytes on the device with this index. Any thread.
  void allocated(std::uint32_t device, std::uint64_t size) {
    memory_[device].fetch_add(size, std::memory_order_relaxed);
  }
  void freed(std::uint32_t device, std::uint64_t size) { memory_[device].fetch_sub(size, std::memory_order_relaxed); }
  std::vector<std::uint64_t> memory() const {
    std::vector<std::uint64_t> memory;
    for (const auto& size : memory_) memory.push_back(size.load(std::memory_order_relaxed));
    return memory;
  }

 private:
  // There is one writer at a time: no need for the price of an atomic addition.
  static void add_one(std::atomic<std::uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> commands_{0};
  std::atomic<std::uint64_t> messages_{0};
  std::vector<std::atomic<std::uint64_t>> memory_;
};

}  // namespace remotecl::server
