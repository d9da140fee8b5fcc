#include "extras/kernel_sockets/space/pipe_listener.h"

#include <utility>

namespace remotecl::server {

bool PipeListener::offer(std::unique_ptr<WakingEndpoint> end) {
  {
    MutexLock lock(mutex_);
    if (is_closed_ || waiting_.size() >= backlog_) return false;
    waiting_.push_back(std::move(end));
  }
  inbox_->wake(socket_);
  return true;
}

std::unique_ptr<WakingEndpoint> PipeListener::take() {
  MutexLock lock(mutex_);
  if (waiting_.empty()) return nullptr;
  std::unique_ptr<WakingEndpoint> first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

bool PipeListener::has_some() const {
  MutexLock lock(mutex_);
  return !waiting_.empty();
}

void PipeListener::close() {
  std::deque<std::unique_ptr<WakingEndpoint>> left;  // destroyed without the lock
  MutexLock lock(mutex_);
  is_closed_ = true;
  left = std::exchange(waiting_, {});
}

}  // namespace remotecl::server
