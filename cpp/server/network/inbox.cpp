#include "server/network/inbox.h"

#include <utility>

#include "server/network/letter.h"

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

void Inbox::post(Letter letter) {
  Ref<WakeEvent> event;
  {
    MutexLock lock(mutex_);
    letters_.push_back(std::move(letter));
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
  contents.letters = std::exchange(letters_, {});
}

void Inbox::clear() {
  Contents dropped;
  take(dropped);
}

}  // namespace remotecl::server
