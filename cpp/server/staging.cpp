#include "server/staging.h"

namespace remotecl::server {

StagingRing::StagingRing(Device& device) {
  cl_int error = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context != nullptr) queue_ = clCreateCommandQueue(context, device.id(), 0, &error);
  if (error != CL_SUCCESS) queue_ = nullptr;
  for (Slot& slot : slots_) {
    if (queue_ != nullptr) {
      slot.memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, kSlotSize, nullptr, &error);
      if (error != CL_SUCCESS) slot.memory = nullptr;
    }
    if (slot.memory != nullptr) {
      slot.data = static_cast<std::byte*>(clEnqueueMapBuffer(queue_, slot.memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                                             0, kSlotSize, 0, nullptr, nullptr, &error));
      if (error != CL_SUCCESS) slot.data = nullptr;
    }
    if (slot.data == nullptr) {  // no pinned memory to be had: slower, not wrong
      slot.pageable = std::make_unique_for_overwrite<std::byte[]>(kSlotSize);
      slot.data = slot.pageable.get();
    }
  }
}

StagingRing::~StagingRing() {
  for (Slot& slot : slots_) {
    if (slot.busy != nullptr) {
      clWaitForEvents(1, &slot.busy);
      clReleaseEvent(slot.busy);
    }
    if (slot.memory == nullptr) continue;
    if (slot.pageable == nullptr) {
      clEnqueueUnmapMemObject(queue_, slot.memory, slot.data, 0, nullptr, nullptr);
    }
    clReleaseMemObject(slot.memory);
  }
  if (queue_ == nullptr) return;
  clFinish(queue_);
  clReleaseCommandQueue(queue_);
}

StagingRing::Slot& StagingRing::next(cl_int& error) {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % kSlots;
  if (slot.busy != nullptr) {
    const cl_int status = clWaitForEvents(1, &slot.busy);
    if (status != CL_SUCCESS) error = status;
    clReleaseEvent(slot.busy);
    slot.busy = nullptr;
  }
  return slot;
}

StagingRing& StagingSet::ring(Device& device) {
  auto& ring = rings_[&device];
  if (ring == nullptr) ring = std::make_unique<StagingRing>(device);
  return *ring;
}

}  // namespace remotecl::server
