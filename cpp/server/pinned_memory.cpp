#include "server/pinned_memory.h"

#include <array>
#include <vector>

#include "runtime/protocol/frames.h"
#include "server/device.h"

namespace remotecl::server {

// One mapped buffer, cut into slots of two sizes: most reads are of a few bytes.
class PinnedMemory::Slots {
 public:
  explicit Slots(Device& device) {
    cl_int error = CL_SUCCESS;
    const cl_context context = device.context(error);
    if (context != nullptr) queue_ = clCreateCommandQueue(context, device.id(), 0, &error);
    if (error != CL_SUCCESS) return;
    memory_ = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, kSize, nullptr, &error);
    if (error != CL_SUCCESS) return;
    void* const data =
        clEnqueueMapBuffer(queue_, memory_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, kSize, 0, nullptr, nullptr, &error);
    if (error != CL_SUCCESS) return;
    data_ = static_cast<std::byte*>(data);
    std::byte* at = data_;
    for (Class& slots : classes_) {
      for (std::size_t i = 0; i < slots.count; ++i, at += slots.size) slots.free.push_back(at);
    }
  }
  ~Slots() {
    if (data_ != nullptr) clEnqueueUnmapMemObject(queue_, memory_, data_, 0, nullptr, nullptr);
    if (memory_ != nullptr) clReleaseMemObject(memory_);
    if (queue_ == nullptr) return;
    clFinish(queue_);
    clReleaseCommandQueue(queue_);
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Null when none of the size is free.
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

  cl_command_queue queue_ = nullptr;  // for mapping
  cl_mem memory_ = nullptr;
  std::byte* data_ = nullptr;
  Mutex mutex_;
  std::array<Class, 2> classes_ GUARDED_BY(mutex_) = {Class{kSmall, kSmallCount}, Class{kInlineDataMax, kLargeCount}};
};

std::shared_ptr<std::byte[]> PinnedMemory::take(std::size_t size) {
  if (!device_.maps_in_place()) {
    std::shared_ptr<Slots> slots;
    {
      MutexLock lock(mutex_);
      if (!slots_) slots_ = std::make_shared<Slots>(device_);
      slots = slots_;
    }
    if (std::byte* const slot = slots->take(size)) {
      return {slot, [slots, size](std::byte* bytes) { slots->give_back(bytes, size); }};
    }
  }
  return std::shared_ptr<std::byte[]>(new std::byte[size]);
}

void PinnedMemory::close() {
  std::shared_ptr<Slots> slots;
  MutexLock lock(mutex_);
  slots.swap(slots_);
}

}  // namespace remotecl::server
