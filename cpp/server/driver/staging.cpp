#include "server/driver/staging.h"

namespace remotecl::server {

StagingRing::StagingRing(Device& device, BulkTransport* transport, std::size_t slot_max)
    : slot_size_(std::min(transport != nullptr ? transport->staging_piece() : kStagingSlot, slot_max)),
      block_(device, kSlots * slot_size_) {
  std::byte* at = block_.data();
  if (at == nullptr) {  // without pinned memory it is slower, not wrong
    pageable_ = std::make_unique_for_overwrite<std::byte[]>(kSlots * slot_size_);
    at = pageable_.get();
  }
  if (transport != nullptr) registration_ = transport->register_staging({at, kSlots * slot_size_});
  for (Slot& slot : slots_) {
    slot.data = at;
    at += slot_size_;
  }
}

StagingRing::~StagingRing() {
  for (Slot& slot : slots_) {
    if (slot.busy) clWaitForEvents(1, slot.busy.list());
  }
}

StagingRing::Slot& StagingRing::next(cl_int& error) {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % kSlots;
  if (slot.busy) {
    const cl_int status = clWaitForEvents(1, slot.busy.list());
    if (status != CL_SUCCESS) error = status;
    slot.busy.reset();
  }
  return slot;
}

std::unique_ptr<StagingRing> StagingPool::take(Device& device) {
  {
    MutexLock lock(mutex_);
    const auto free = free_.find(&device);
    if (free != free_.end() && !free->second.empty()) {
      auto ring = std::move(free->second.back());
      free->second.pop_back();
      return ring;
    }
  }
  return std::make_unique<StagingRing>(device);
}

void StagingPool::give_back(Device& device, std::unique_ptr<StagingRing> ring) {
  MutexLock lock(mutex_);
  if (!dropped_.contains(&device)) free_[&device].push_back(std::move(ring));
}

void StagingPool::drop(Device& device) {
  std::vector<std::unique_ptr<StagingRing>> gone;
  MutexLock lock(mutex_);
  dropped_.insert(&device);
  const auto at = free_.find(&device);
  if (at == free_.end()) return;
  gone = std::move(at->second);
  free_.erase(at);
}

void StagingPool::clear() {
  std::map<Device*, std::vector<std::unique_ptr<StagingRing>>> gone;
  MutexLock lock(mutex_);
  gone.swap(free_);
}

StagingRing& StagingSet::ring(Device& device) {
  auto& ring = rings_[&device];
  if (ring == nullptr) ring = std::make_unique<StagingRing>(device, &transport_, slot_max_);
  return *ring;
}

}  // namespace remotecl::server
