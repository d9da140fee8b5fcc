#include "server/driver/external_memory.h"

#include <algorithm>
#include <array>
#include <span>

namespace remotecl::server {
namespace {

// Those of cl_khr_external_memory, which not all headers have.
constexpr cl_device_info kImportHandleTypes = 0x204F;
constexpr cl_uint kDmaBuf = 0x2067;

}  // namespace

bool takes_dma_bufs(cl_device_id device) {
  std::array<cl_uint, 32> types{};
  std::size_t size = 0;
  if (clGetDeviceInfo(device, kImportHandleTypes, sizeof types, types.data(), &size) != CL_SUCCESS) return false;
  return std::ranges::count(std::span(types).first(size / sizeof types[0]), kDmaBuf) != 0;
}

}  // namespace remotecl::server
