#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/cl.h"
#include "server/device.h"
#include "server/svm_memory.h"

namespace remotecl::server {

// A client's buffer or sub-buffer. Memory of a device is made when the device first needs it, so running out
// of it is the error of the command that needed it. Owned by the session's table, by its sub-buffers and by
// commands in flight. native() needs the session's lock.
class Buffer final : public RefCounted {
 public:
  Buffer(std::uint64_t flags, std::uint64_t size);
  Buffer(Ref<Buffer> parent, std::uint64_t flags, std::uint64_t offset, std::uint64_t size);
  Buffer(Ref<SvmMemory> svm, std::uint64_t flags, std::uint64_t size);
  ~Buffer() override;

  std::uint64_t size() const { return size_; }
  // True when `size` bytes at `offset` lie in the buffer.
  bool contains(std::uint64_t offset, std::uint64_t size) const { return size <= size_ && offset <= size_ - size; }
  // The shared virtual memory that it lies in, or null.
  const SvmMemory* svm() const { return parent_ ? parent_->svm() : svm_.get(); }
  // The memory on `device`, still owned by this object.
  cl_int native(Device& device, cl_mem& memory);

 private:
  struct Native {
    Device* device = nullptr;
    cl_mem memory = nullptr;
    std::uint64_t reserved = 0;  // bytes that count on the device
  };
  cl_int make(Device& device, Native& native);

  const Ref<Buffer> parent_;
  const Ref<SvmMemory> svm_;
  const std::uint64_t flags_;
  const std::uint64_t offset_ = 0;  // in parent_
  const std::uint64_t size_;
  std::vector<Native> native_;  // by device
};

}  // namespace remotecl::server
