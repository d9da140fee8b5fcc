#pragma once

#include <memory>

#include "extras/rdma/rdma_slot.h"
#include "runtime/base/mutex.h"

namespace remotecl {

// Memory of a bulk stream. It is registered with the present channel when that first uses it, because channels
// come and go. Any thread.
class RdmaRegistration final : public MemoryRegistration {
 public:
  // `counts_in`: where the memory counts from its first use on; null: nowhere.
  explicit RdmaRegistration(MutableBytes memory, std::shared_ptr<RdmaSlot> counts_in = nullptr)
      : memory_(memory), counts_in_(std::move(counts_in)) {}

  // Null if the memory cannot be registered: then the channel copies. If it must not be, the channel has ended. Valid
  // until another channel is named.
  const RegisteredMemory* with(const std::shared_ptr<RdmaChannel>& channel) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (channel_ == channel) return registered_.get();
    registered_.reset();
    channel_ = channel;
    if (counts_in_ != nullptr && held_ == nullptr && (held_ = counts_in_->hold(memory_.size())) == nullptr)
      return nullptr;
    try {
      registered_ = channel->register_memory(memory_);
    } catch (const ConnectionError&) {  // most likely the limit of locked memory
    }
    return registered_.get();
  }

  // The registration of a bulk source or destination with this channel; null if it has none.
  static const RegisteredMemory* of(const MemoryRegistration* registration,
                                    const std::shared_ptr<RdmaChannel>& channel) {
    return registration == nullptr ? nullptr : static_cast<const RdmaRegistration*>(registration)->with(channel);
  }

 private:
  const MutableBytes memory_;
  const std::shared_ptr<RdmaSlot> counts_in_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const void> held_ GUARDED_BY(mutex_);
  mutable std::shared_ptr<RdmaChannel> channel_ GUARDED_BY(mutex_);
  mutable std::unique_ptr<RegisteredMemory> registered_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
