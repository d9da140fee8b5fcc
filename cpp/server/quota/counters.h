#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Numbers, initially 0, that several threads change, or several processes through shared memory. Any thread.
class Counters final : public RefCounted {
 public:
  enum class For { kThisProcess, kSeveralProcesses };
  // Throws std::system_error if the system has no memory to share.
  Counters(std::size_t count, For whom);
  // Maps the counters of another process through the descriptor that it sent. Throws std::system_error.
  Counters(std::size_t count, Descriptor memory);
  ~Counters() override;

  std::atomic<std::uint64_t>& operator[](std::size_t index) { return numbers_[index]; }
  const std::atomic<std::uint64_t>& operator[](std::size_t index) const { return numbers_[index]; }
  std::size_t size() const { return count_; }
  bool is_shared() const { return memory_.valid(); }
  // To pass to another process; -1 if the counters are not shared.
  int descriptor() const { return memory_.get(); }

 private:
  void map();

  const std::size_t count_;
  const Descriptor memory_;
  std::atomic<std::uint64_t>* numbers_ = nullptr;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not be seen by other processes");

}  // namespace remotecl::server
