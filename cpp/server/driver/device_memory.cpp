#include "server/driver/device_memory.h"

#include "server/driver/host_memory.h"

namespace remotecl::server {

DeviceMemory::DeviceMemory(Device& device, const DeviceTraits& traits, DeviceMemory* root)
    : root_(root),
      total_(traits.memory_size),
      is_in_process_(traits.is_processor && traits.has_unified_memory),
      pinned_(device) {
  if ((traits.svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return;
  // Kernels of a CPU device run in this process and share its addresses, whatever the driver promises.
  const bool any_address = (traits.svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0 || is_in_process();
  svm_ = any_address ? Svm::kAnyAddress : Svm::kOwnAddress;
}

// A sub-device's reservations also count on its device, which holds the memory; only the sub-device's own
// size limits them.
bool DeviceMemory::reserve(std::uint64_t size) {
  std::uint64_t before = reserved_.load();
  do {
    if (total_ != 0 && (size > total_ || before > total_ - size)) return false;
  } while (!reserved_.compare_exchange_weak(before, before + size));
  if (root_ != nullptr) root_->reserved_ += size;
  return true;
}

void DeviceMemory::give_back(std::uint64_t size) {
  reserved_ -= size;
  if (root_ != nullptr) root_->reserved_ -= size;
}

void DeviceMemory::examine(cl_context context, cl_device_id device) {
  if (is_in_process()) uses_host_memory_ = HostMemory::works_on(context, device);
}

}  // namespace remotecl::server
