#include "extras/kernel_sockets/space/inbox.h"

#include <utility>

#include "extras/kernel_sockets/space/lane_message.h"

namespace remotecl::server {

Inbox::Inbox() = default;
Inbox::~Inbox() = default;

void Inbox::wake(std::uint64_t socket) {
  Ref<WakeEvent> event;
  {
    MutexLock lock(mutex_);
    wakes_.push_back(socket);
    has_some_ = true;
    event = event_;
  }
  if (event) event->wake_sleeper();
}

void Inbox::post(LaneMessage message) {
  Ref<WakeEvent> event;
  {
    MutexLock lock(mutex_);
    messages_.push_back(std::move(message));
    has_some_ = true;
    event = event_;
  }
  if (event) event->wake_sleeper();
}

void Inbox::belongs_to(const Ref<WakeEvent>& event) {
  MutexLock lock(mutex_);
  event_ = event;
}

void Inbox::take(Contents& contents) {
  MutexLock lock(mutex_);
  has_some_ = false;
  contents.wakes = std::exchange(wakes_, {});
  contents.messages = std::exchange(messages_, {});
}

void Inbox::clear() {
  Contents dropped;
  take(dropped);
}

}  // namespace remotecl::server
