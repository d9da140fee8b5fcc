#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "extras/kernel_sockets/space/wake_event.h"
#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

struct LaneMessage;

// Messages from other threads to the sockets of a lane. Wakes the thread that has the lane. Shared by the lane and the
// senders; any thread.
class Inbox final : public RefCounted {
 public:
  Inbox();
  ~Inbox() override;

  // There is something new for the socket.
  void wake(std::uint64_t socket) EXCLUDES(mutex_);
  void post(LaneMessage message) EXCLUDES(mutex_);

  // For the lane's thread: what wakes it from now on.
  void belongs_to(const Ref<WakeEvent>& event) EXCLUDES(mutex_);
  bool is_empty() const { return !has_some_.load(); }
  struct Contents {
    std::vector<std::uint64_t> wakes;
    std::vector<LaneMessage> messages;
  };
  // Takes what has come since the last call.
  void take(Contents& contents) EXCLUDES(mutex_);
  void clear() EXCLUDES(mutex_);

 private:
  std::atomic<bool> has_some_{false};
  Mutex mutex_;
  std::vector<std::uint64_t> wakes_ GUARDED_BY(mutex_);
  std::vector<LaneMessage> messages_ GUARDED_BY(mutex_);
  Ref<WakeEvent> event_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
