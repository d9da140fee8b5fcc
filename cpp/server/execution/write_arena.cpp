#include "server/execution/write_arena.h"

#include <cstring>
#include <utility>

#include "runtime/protocol/frames.h"
#include "server/completion/completion_notifier.h"

namespace remotecl::server {

static_assert(BlockPool::kBlockSize >= kInlineDataMax);

BlockPool::Block BlockPool::take() {
  {
    MutexLock lock(mutex_);
    if (!free_.empty()) {
      Block block = std::move(free_.back());
      free_.pop_back();
      return block;
    }
  }
  return std::make_unique_for_overwrite<std::byte[]>(kBlockSize);
}

void BlockPool::give_back(Block block) {
  MutexLock lock(mutex_);
  if (free_.size() < kFreeBlocksMax) free_.push_back(std::move(block));
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
    pool_->give_back(std::move(block_));
    return;
  }
  auto returned = std::make_shared<BlockPool::Block>(std::move(block_));
  pool_->completions().notify_apart(marker.get(),
                                    [pool = pool_, returned](cl_int) { pool->give_back(std::move(*returned)); });
}

}  // namespace remotecl::server
