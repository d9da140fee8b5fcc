#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Numbers, initially 0, that several threads change, or that two processes share, of which one writes. Any thread.
class Counters final : public RefCounted {
 public:
  enum class Writer { kThisProcess, kOther };

  // Of this process alone.
  explicit Counters(std::size_t count) : count_(count), numbers_(new Number[count]{}) {}
  // To be shared with another process. What kOther writes is what it claims; what kThisProcess writes nobody else can
  // change. Throws std::system_error if the system has no memory to share.
  Counters(std::size_t count, Writer writer);
  // Maps the counters of another process through the descriptor that it sent. With Writer::kOther they may only be
  // read. Throws std::system_error.
  Counters(std::size_t count, Descriptor memory, Writer writer);
  ~Counters() override;

  std::atomic<std::uint64_t>& operator[](std::size_t index) { return numbers_[index]; }
  const std::atomic<std::uint64_t>& operator[](std::size_t index) const { return numbers_[index]; }
  std::size_t size() const { return count_; }
  // To pass to another process; -1 if the counters are not shared.
  int descriptor() const { return memory_.get(); }

 private:
  using Number = std::atomic<std::uint64_t>;

  void map(bool is_writable);

  const std::size_t count_;
  Descriptor memory_;
  Number* numbers_ = nullptr;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not be seen by other processes");

}  // namespace remotecl::server
