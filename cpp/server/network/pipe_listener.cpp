#include "server/network/pipe_listener.h"

#include <utility>

namespace remotecl::server {

bool PipeListener::offer(const Ref<Pipe>& pipe) {
  {
    MutexLock lock(mutex_);
    if (is_closed_ || waiting_.size() >= backlog_) return false;
    waiting_.push_back(pipe);
  }
  inbox_->wake(socket_);
  return true;
}

Ref<Pipe> PipeListener::take() {
  MutexLock lock(mutex_);
  if (waiting_.empty()) return nullptr;
  Ref<Pipe> first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

bool PipeListener::has_some() const {
  MutexLock lock(mutex_);
  return !waiting_.empty();
}

void PipeListener::close() {
  std::deque<Ref<Pipe>> left;
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
    left = std::exchange(waiting_, {});
  }
  for (const Ref<Pipe>& pipe : left) pipe->close(Pipe::End::kAccepted);
}

}  // namespace remotecl::server
