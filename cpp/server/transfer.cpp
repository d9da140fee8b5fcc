#include "server/transfer.h"

#include <algorithm>

#include "runtime/protocol/frames.h"

namespace remotecl::server {

Mapping::~Mapping() {
  unmap(nullptr);
  if (memory_ != nullptr) clReleaseMemObject(memory_);
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
}

cl_int Mapping::map(cl_command_queue queue, cl_mem memory, cl_map_flags flags, std::uint64_t offset, std::uint64_t size,
                    cl_uint wait_count, const cl_event* waits, cl_event* mapped) {
  cl_int error = CL_SUCCESS;
  data_ = clEnqueueMapBuffer(queue, memory, CL_FALSE, flags, offset, size, wait_count, waits, mapped, &error);
  if (error != CL_SUCCESS) {
    data_ = nullptr;
    return error;
  }
  clRetainCommandQueue(queue);
  clRetainMemObject(memory);
  queue_ = queue;
  memory_ = memory;
  return CL_SUCCESS;
}

cl_int Mapping::unmap(cl_event* unmapped) {
  if (data_ == nullptr) return CL_SUCCESS;
  void* data = data_;
  data_ = nullptr;
  return clEnqueueUnmapMemObject(queue_, memory_, data, 0, nullptr, unmapped);
}

bool send_chunks(Connection& connection, TransferId id, Bytes bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), kBulkChunkMax);
    const auto header = encode_frame<BulkHeader, kBulkHeaderSize>({id, static_cast<std::uint32_t>(size), 0});
    if (!connection.write(header, bytes.first(size))) return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

}  // namespace remotecl::server
