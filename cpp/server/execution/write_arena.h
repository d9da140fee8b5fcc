#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/completion/completion_notifier.h"
#include "server/completion/native.h"

namespace remotecl::server {

// Blocks of host memory for the bytes of small writes. Shared by the queues of a session; any thread.
class BlockPool final : public RefCounted {
 public:
  static constexpr std::size_t kBlockSize = 128u << 10;

  using Block = std::unique_ptr<std::byte[]>;

  explicit BlockPool(CompletionNotifier completions) : completions_(std::move(completions)) {}
  const CompletionNotifier& completions() const { return completions_; }

  Block take() EXCLUDES(mutex_);
  void give_back(Block block) EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kFreeBlocksMax = 8;

  const CompletionNotifier completions_;
  Mutex mutex_;
  std::vector<Block> free_ GUARDED_BY(mutex_);
};

// Copies of the bytes of one queue's small writes, kept until the driver has read them. A whole block has one
// native event, because a callback for every small write would cost more than the write. Owned by its queue.
class WriteArena {
 public:
  explicit WriteArena(Ref<BlockPool> pool) : pool_(std::move(pool)) {}

  bool fits(std::size_t size) const { return block_ != nullptr && BlockPool::kBlockSize - used_ >= size; }
  // Copies at most kInlineDataMax bytes to memory that stays valid until the block has been retired and its
  // marker has ended. If they do not fit, the current block must be retired first.
  const std::byte* add(Bytes data);
  // The driver has read everything so far.
  void reset() { used_ = 0; }
  bool empty() const { return block_ == nullptr; }
  // Leaves the current block to the commands that use it. `marker` ends after them; null if there are none.
  void retire(Native<cl_event> marker);

 private:
  Ref<BlockPool> pool_;
  BlockPool::Block block_;
  std::size_t used_ = 0;
};

}  // namespace remotecl::server
