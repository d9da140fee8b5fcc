#include "server/driver/pinned_memory.h"

#include <array>
#include <utility>
#include <vector>

#include "runtime/protocol/frames.h"
#include "server/driver/device.h"
#include "server/driver/pinned_block.h"

namespace remotecl::server {

// One mapped buffer, cut into slots of two sizes because most reads are of a few bytes.
class PinnedMemory::Slots {
 public:
  explicit Slots(Device& device) : block_(device, kSize) {
    std::byte* at = block_.data();
    if (at == nullptr) return;
    for (Class& slots : classes_) {
      for (std::size_t i = 0; i < slots.count; ++i, at += slots.size) slots.free.push_back(at);
    }
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Null if no slot of that size is free.
  std::byte* take(std::size_t size) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Class& slots = class_of(size);
    if (size > slots.size || slots.free.empty()) return nullptr;
    std::byte* const slot = slots.free.back();
    slots.free.pop_back();
    return slot;
  }
  void give_back(std::byte* slot, std::size_t size) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    class_of(size).free.push_back(slot);
  }

 private:
  struct Class {
    std::size_t size;
    std::size_t count;
    std::vector<std::byte*> free{};
  };
  static constexpr std::size_t kSmall = 512;
  static constexpr std::size_t kSmallCount = 4096;
  static constexpr std::size_t kLargeCount = 32;
  static constexpr std::size_t kSize = kSmall * kSmallCount + kInlineDataMax * kLargeCount;

  Class& class_of(std::size_t size) REQUIRES(mutex_) { return classes_[size <= kSmall ? 0 : 1]; }

  PinnedBlock block_;
  Mutex mutex_;
  std::array<Class, 2> classes_ GUARDED_BY(mutex_) = {Class{kSmall, kSmallCount}, Class{kInlineDataMax, kLargeCount}};
};

std::shared_ptr<std::byte[]> PinnedMemory::take(std::size_t size) {
  if (!device_.memory().is_in_process()) {
    const std::shared_ptr<Slots> slots = this->slots();
    if (std::byte* const slot = slots ? slots->take(size) : nullptr) {
      return {slot, [slots, size](std::byte* bytes) { slots->give_back(bytes, size); }};
    }
  }
  return std::shared_ptr<std::byte[]>(new std::byte[size]);
}

std::shared_ptr<PinnedMemory::Slots> PinnedMemory::slots() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(is_asked_for_, true)) return slots_;
  }
  auto slots = std::make_shared<Slots>(device_);  // without the lock, because the driver may take long
  MutexLock lock(mutex_);
  return slots_ = std::move(slots);
}

void PinnedMemory::close() {
  std::shared_ptr<Slots> slots;
  MutexLock lock(mutex_);
  slots.swap(slots_);
}

}  // namespace remotecl::server
