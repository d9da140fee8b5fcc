#include "server/transfer/transfer_progress.h"

#include "server/transfer/transfer.h"

namespace remotecl::server {

void TransferProgress::when_begun(std::function<void()> function) {
  {
    MutexLock lock(mutex_);
    if (available_ == 0 && !ended_) {
      waiting_.push_back(std::move(function));
      return;
    }
  }
  function();
}

TransferProgress::Step TransferProgress::wait(std::uint64_t beyond) {
  MutexLock lock(mutex_);
  while (available_ <= beyond && !ended_) changed_.wait(mutex_);
  return {available_, status_};
}

bool TransferProgress::ended() const {
  MutexLock lock(mutex_);
  return ended_;
}

Ref<IncomingTransfer> TransferProgress::transfer() const {
  MutexLock lock(mutex_);
  return transfer_;
}

void TransferProgress::advance(IncomingTransfer& transfer, std::uint64_t available) {
  std::vector<std::function<void()>> waiting;
  {
    MutexLock lock(mutex_);
    if (!transfer_) transfer_ = Ref<IncomingTransfer>(&transfer);
    available_ = available;
    waiting.swap(waiting_);
    changed_.notify_all();
  }
  for (const auto& function : waiting) function();
}

void TransferProgress::end(cl_int status) {
  std::vector<std::function<void()>> waiting;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    status_ = status;
    waiting.swap(waiting_);
    changed_.notify_all();
  }
  for (const auto& function : waiting) function();
}

}  // namespace remotecl::server
