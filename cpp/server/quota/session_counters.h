#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/quota/memory_quota.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// A session's usage. Shared by the session and its memory objects, which may outlive it briefly. Any
// thread may read; each group below says who may write.
class SessionCounters final : public RefCounted {
 public:
  explicit SessionCounters(Ref<MemoryQuota> memory) : memory_(std::move(memory)) {}

  void count_command() REQUIRES(session_lock) { add_one(commands_); }
  void count_message() REQUIRES(session_lock) { add_one(messages_); }
  std::uint64_t commands() const { return commands_.load(std::memory_order_relaxed); }
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

  // Bytes on the device with this index; any thread. Returns false and counts nothing if the session's limit
  // would be exceeded.
  bool reserve(std::uint32_t device, std::uint64_t size) { return memory_->reserve(device, size); }
  void give_back(std::uint32_t device, std::uint64_t size) { memory_->give_back(device, size); }
  std::vector<std::uint64_t> memory() const {
    std::vector<std::uint64_t> memory;
    for (std::size_t device = 0; device < memory_->devices(); ++device) memory.push_back(memory_->used(device));
    return memory;
  }
  // For HeldMemory.
  MemoryQuota& quota() const { return *memory_; }

 private:
  // There is one writer at a time, so an atomic addition would be a waste.
  static void add_one(std::atomic<std::uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> commands_{0};
  std::atomic<std::uint64_t> messages_{0};
  const Ref<MemoryQuota> memory_;
};

}  // namespace remotecl::server
