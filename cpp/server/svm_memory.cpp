#include "server/svm_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace remotecl::server {
namespace {

constexpr std::uint64_t kUserSpaceEnd = std::uint64_t{1} << 47;

bool is_sound(const SvmRequest& request) {
  const auto fits = [&](const Device* device) {
    return device->svm() != Device::Svm::kNone && request.size <= device->allocation_size_max();
  };
  return request.size != 0 && std::has_single_bit(request.alignment) && request.alignment < kUserSpaceEnd &&
         !request.devices.empty() && std::all_of(request.devices.begin(), request.devices.end(), fits);
}

std::byte* map_pages(std::uint64_t address, std::uint64_t size) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (address == 0 || address % page != 0 || address >= kUserSpaceEnd || size > kUserSpaceEnd - address) return nullptr;
  void* const wanted = reinterpret_cast<void*>(address);
  void* const pages = ::mmap(wanted, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (pages == wanted) return static_cast<std::byte*>(pages);
  if (pages != MAP_FAILED) ::munmap(pages, size);  // a kernel that does not know the flag
  return nullptr;
}

// Whole pages, so that the client can have the same ones; without them where the driver does not like that.
std::byte* allocate_natively(cl_context context, const SvmRequest& request) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kFlags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
  const auto alignment = static_cast<cl_uint>(std::max(request.alignment, kPage));
  const std::uint64_t size = (request.size + kPage - 1) / kPage * kPage;
  void* memory = clSVMAlloc(context, request.flags & kFlags, size, alignment);
  if (memory == nullptr) {
    memory = clSVMAlloc(context, request.flags & kFlags, request.size, static_cast<cl_uint>(request.alignment));
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

cl_int SvmMemory::allocate(const SvmRequest& request, Ref<SvmMemory>& memory) {
  if (!is_sound(request)) return CL_INVALID_VALUE;
  const auto takes_any = [](const Device* device) { return device->svm() == Device::Svm::kAnyAddress; };
  std::byte* data = nullptr;
  cl_context context = nullptr;
  if (std::all_of(request.devices.begin(), request.devices.end(), takes_any)) {
    data = map_pages(request.address, request.size);
  } else if (request.devices.size() == 1) {
    cl_int error = CL_SUCCESS;
    context = request.devices[0]->context(error);
    if (context == nullptr) return error;
    data = allocate_natively(context, request);
  }
  // Two devices, each with a context of its own, that both insist on addresses of theirs never agree.
  if (data == nullptr) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  memory = Ref<SvmMemory>::adopt(new SvmMemory(request.devices, data, request.size, context));
  return CL_SUCCESS;
}

SvmMemory::~SvmMemory() {
  if (context_ != nullptr) {
    clSVMFree(context_, data_);
  } else {
    ::munmap(data_, size_);
  }
}

bool SvmMemory::usable_on(const Device& device) const {
  return std::find(devices_.begin(), devices_.end(), &device) != devices_.end();
}

}  // namespace remotecl::server
