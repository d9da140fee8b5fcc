#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/base/ref_counted.h"
#include "server/quota/session_counters.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

// A session, or its user's sessions together, would make the server hold more memory than allowed; what()
// names the limit.
class HeldTooMuch : public ProtocolError {
 public:
  using ProtocolError::ProtocolError;
};

// Counts memory of this process that outlives the message that asked for it against the session and its user,
// as long as this object exists. The size of objects and tables is an estimate. Movable; one owner, any
// thread.
class HeldMemory {
 public:
  // If memory for a command is refused, the command fails and the session goes on. kCommand therefore leaves
  // an eighth of the limit to kSession, where a refusal ends the session.
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
  // Returns false and changes nothing if the limit would be exceeded.
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
  // For sizes that change often: counts in steps of 64 KiB, so that most changes cost nothing.
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

// Counts memory that bulk transports lock for the session: RdmaSlot::Hold. Any thread.
inline auto hold_locked(const Ref<SessionCounters>& counters) {
  return [counters](std::uint64_t size) -> std::shared_ptr<const void> {
    auto held = std::make_shared<HeldMemory>(counters, HeldMemory::For::kCommand);
    return held->try_resize(size) ? held : nullptr;
  };
}

// Counts the memory of a reply that comes later, until the result is destroyed. Throws HeldTooMuch. Any
// thread.
inline std::shared_ptr<const HeldMemory> hold_reply(const Ref<SessionCounters>& counters) {
  constexpr std::uint64_t kSize = 1024;  // a rough figure that includes the driver's part
  return std::make_shared<const HeldMemory>(counters, kSize);
}

}  // namespace remotecl::server
