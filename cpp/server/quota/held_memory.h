#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/base/ref_counted.h"
#include "server/quota/session_counters.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

// A session, or all of its user's together, would make the server hold more than it may; what() names the limit.
class HeldTooMuch : public ProtocolError {
 public:
  using ProtocolError::ProtocolError;
};

// Memory of this process that outlives the message that asked for it: counted to the session and its user while this
// exists. What objects and tables take is estimated. A value that moves; one owner, any thread.
class HeldMemory {
 public:
  // A command that is refused fails, and the session goes on: some is left for what ends the session where it is
  // refused.
  enum class For { kSession, kCommand };

  explicit HeldMemory(const Ref<SessionCounters>& counters, For whom = For::kSession)
      : counters_(counters), for_command_(whom == For::kCommand) {}
  // Throws HeldTooMuch.
  HeldMemory(const Ref<SessionCounters>& counters, std::uint64_t size, For whom = For::kSession)
      : HeldMemory(counters, whom) {
    resize(size);
  }
  ~HeldMemory() { shrink(0); }
  HeldMemory(HeldMemory&& other) noexcept
      : counters_(std::move(other.counters_)), for_command_(other.for_command_), size_(std::exchange(other.size_, 0)) {}
  HeldMemory& operator=(HeldMemory&&) = delete;

  std::uint64_t size() const { return size_; }
  // False, and nothing changes, when it would be too much.
  bool try_resize(std::uint64_t size) {
    if (size <= size_) {
      shrink(size);
    } else if (!counters_->quota().reserve(counters_->quota().host(), size - size_, for_command_)) {
      return false;
    }
    size_ = size;
    return true;
  }
  // Throws HeldTooMuch.
  void resize(std::uint64_t size) {
    if (!try_resize(size)) refuse(*counters_);
  }
  // For what changes often: counts in steps of 64 KiB, so that most changes cost nothing.
  bool try_follow(std::uint64_t size) {
    return (size <= size_ && size + 2 * kStep > size_) || try_resize((size + kStep - 1) / kStep * kStep);
  }
  void follow(std::uint64_t size) {
    if (!try_follow(size)) refuse(*counters_);
  }

 private:
  static constexpr std::uint64_t kStep = 64u << 10;

  [[noreturn]] static void refuse(const SessionCounters& counters);
  void shrink(std::uint64_t size) {
    if (size_ > size) counters_->quota().give_back(counters_->quota().host(), size_ - size);
  }

  Ref<SessionCounters> counters_;
  const bool for_command_;
  std::uint64_t size_ = 0;
};

// What keeps an answer that comes later takes until it goes. Throws HeldTooMuch. Any thread.
inline std::shared_ptr<const HeldMemory> hold_answer(const Ref<SessionCounters>& counters) {
  constexpr std::uint64_t kSize = 1024;  // with the driver's part, about
  return std::make_shared<const HeldMemory>(counters, kSize);
}

}  // namespace remotecl::server
