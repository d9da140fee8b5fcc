#include "server/driver/host_memory.h"

#include <cstdlib>
#include <cstring>

namespace remotecl::server {
namespace {

// A page, which drivers demand before they use memory in place.
constexpr std::size_t kAlignment = 4096;

void CL_CALLBACK release(cl_mem, void* data) { std::free(data); }

}  // namespace

cl_mem HostMemory::make_buffer(cl_context context, cl_mem_flags flags, std::uint64_t size, std::byte*& data,
                               cl_int& error) {
  void* const memory = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) {
    error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return nullptr;
  }
  cl_mem buffer = clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, memory, &error);
  if (error == CL_SUCCESS) error = clSetMemObjectDestructorCallback(buffer, release, memory);
  if (error == CL_SUCCESS) {
    data = static_cast<std::byte*>(memory);
    return buffer;
  }
  if (buffer != nullptr) clReleaseMemObject(buffer);
  std::free(memory);
  return nullptr;
}

bool HostMemory::works_on(cl_context context, cl_device_id device) {
  constexpr cl_int kByKernel = 0x1234567, kByHost = 0x2345678;
  constexpr std::size_t kSize = 2 * kAlignment;
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  if (error != CL_SUCCESS) return false;
  bool works = false;
  std::byte* data = nullptr;
  if (cl_mem buffer = make_buffer(context, CL_MEM_READ_WRITE, kSize, data, error)) {
    std::memset(data, 0, kSize);
    error = clEnqueueFillBuffer(queue, buffer, &kByKernel, sizeof kByKernel, 0, kSize / 2, 0, nullptr, nullptr);
    if (error == CL_SUCCESS) error = clFinish(queue);
    cl_int seen = 0;
    std::memcpy(&seen, data + kSize / 2 - sizeof seen, sizeof seen);
    works = error == CL_SUCCESS && seen == kByKernel;
    std::memcpy(data + kSize / 2, &kByHost, sizeof kByHost);
    error = clEnqueueReadBuffer(queue, buffer, CL_TRUE, kSize / 2, sizeof seen, &seen, 0, nullptr, nullptr);
    works = works && error == CL_SUCCESS && seen == kByHost;
    clReleaseMemObject(buffer);
  }
  clReleaseCommandQueue(queue);
  return works;
}

}  // namespace remotecl::server
