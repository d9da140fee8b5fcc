#include "server/memory/svm_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace remotecl::server {
namespace {

// Keeps memory away from null and small offsets from it; as root, mmap() could place it there.
constexpr std::uint64_t kUserSpaceBegin = std::uint64_t{1} << 32;
constexpr std::uint64_t kUserSpaceEnd = std::uint64_t{1} << 47;

bool is_sound(const SvmRequest& request) {
  const auto fits = [&](const Device* device) {
    return device->memory().svm() != DeviceMemory::Svm::kNone && request.size <= device->traits().allocation_size_max;
  };
  return request.size != 0 && std::has_single_bit(request.alignment) && request.alignment < kUserSpaceEnd &&
         !request.devices.empty() && std::all_of(request.devices.begin(), request.devices.end(), fits);
}

std::byte* map_pages(std::uint64_t address, std::uint64_t size) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (address < kUserSpaceBegin || address % page != 0) return nullptr;
  if (address >= kUserSpaceEnd || size > kUserSpaceEnd - address) return nullptr;
  void* const wanted = reinterpret_cast<void*>(address);
  void* const pages = ::mmap(wanted, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (pages == wanted) return static_cast<std::byte*>(pages);
  if (pages != MAP_FAILED) ::munmap(pages, size);  // the kernel does not know the flag
  return nullptr;
}

constexpr std::uint64_t kFlags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

// Asks the driver for enough to contain whole pages, because the client must be able to map the same
// addresses. Drivers put small allocations into shared pages and guarantee no alignment beyond that of a
// long16.
std::byte* allocate_pages(cl_context context, const SvmRequest& request, void*& allocation) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t alignment = std::max(request.alignment, kPage);
  const std::uint64_t size = (request.size + kPage - 1) / kPage * kPage;
  allocation = clSVMAlloc(context, request.flags & kFlags, size + alignment, 0);
  if (allocation == nullptr) return nullptr;
  const std::uint64_t before = -reinterpret_cast<std::uintptr_t>(allocation) & (alignment - 1);
  return static_cast<std::byte*>(allocation) + before;
}

}  // namespace

SvmReservation::~SvmReservation() {
  for (const auto& [device, size] : taken_) {
    device->memory().give_back(size);
    counters_->give_back(device->root().index(), size);
  }
}

bool SvmReservation::add(Device& device, std::uint64_t size) {
  if (!counters_->reserve(device.root().index(), size)) return false;
  if (!device.memory().reserve(size)) {
    counters_->give_back(device.root().index(), size);
    return false;
  }
  taken_.emplace_back(&device, size);
  return true;
}

cl_int SvmMemory::allocate(const SvmRequest& request, const Ref<SessionCounters>& counters, Ref<SvmMemory>& memory) {
  if (!is_sound(request)) return CL_INVALID_VALUE;
  SvmReservation reservation(counters);
  for (Device* device : request.devices) {
    if (!reservation.add(*device, request.size)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
  const auto takes_any = [](const Device* device) { return device->memory().svm() == DeviceMemory::Svm::kAnyAddress; };
  std::byte* data = nullptr;
  cl_context context = nullptr;
  void* allocation = nullptr;
  if (std::all_of(request.devices.begin(), request.devices.end(), takes_any)) {
    data = map_pages(request.address, request.size);
  } else if (request.devices.size() == 1) {
    cl_int error = CL_SUCCESS;
    context = request.devices[0]->context(error);
    if (context == nullptr) return error;
    data = allocate_pages(context, request, allocation);
  }
  // Two devices that both insist on addresses of their own choice never agree, because each has its own
  // context.
  if (data == nullptr) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  memory = Ref<SvmMemory>::adopt(
      new SvmMemory(request.devices, std::move(reservation), data, request.size, context, allocation));
  return CL_SUCCESS;
}

SvmMemory::~SvmMemory() {
  if (context_ != nullptr) {
    clSVMFree(context_, allocation_);
  } else {
    ::munmap(data_, size_);
  }
}

bool SvmMemory::usable_on(const Device& device) const {
  return std::find(devices_.begin(), devices_.end(), &device) != devices_.end();
}

}  // namespace remotecl::server
