#include "server/execution/write_arena.h"

#include <cstring>
#include <utility>

#include "runtime/protocol/frames.h"
#include "server/completion/completion_notifier.h"
#include "server/completion/event_poller.h"

namespace remotecl::server {

static_assert(BlockPool::kBlockSize >= kInlineDataMax);

BlockPool::Block BlockPool::take() {
  MutexLock lock(mutex_);
  if (lent_ >= kLentBlocksMax) EventPoller::leave_all();
  while (lent_ >= kLentBlocksMax) returned_.wait(mutex_);
  if (free_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kBlockSize);
  Block block = std::move(free_.back());
  free_.pop_back();
  return block;
}

void BlockPool::give(Block block) {
  MutexLock lock(mutex_);
  if (free_.size() < kFreeBlocksMax) free_.push_back(std::move(block));
}

void BlockPool::lend() {
  MutexLock lock(mutex_);
  ++lent_;
}

void BlockPool::give_back(Block block) {
  MutexLock lock(mutex_);
  --lent_;
  if (free_.size() < kFreeBlocksMax) free_.push_back(std::move(block));
  returned_.notify_one();
}

const std::byte* WriteArena::add(Bytes data) {
  if (block_ == nullptr) block_ = pool_->take();
  std::byte* at = block_.get() + used_;
  if (!data.empty()) std::memcpy(at, data.data(), data.size());
  used_ += data.size();
  return at;
}

void WriteArena::retire(Native<cl_event> marker) {
  if (block_ == nullptr) return;
  used_ = 0;
  if (!marker) {
    pool_->give(std::move(block_));
    return;
  }
  pool_->lend();
  auto returned = std::make_shared<BlockPool::Block>(std::move(block_));
  pool_->completions().notify_apart(marker.get(),
                                    [pool = pool_, returned](cl_int) { pool->give_back(std::move(*returned)); });
}

}  // namespace remotecl::server
