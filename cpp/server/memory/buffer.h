#pragma once

#include <cstdint>

#include "server/memory/memory.h"
#include "server/memory/svm_memory.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// A client's buffer or sub-buffer.
class Buffer final : public Memory {
 public:
  Buffer(std::uint64_t flags, std::uint64_t size, Ref<SessionCounters> counters);
  Buffer(const Ref<Buffer>& parent, std::uint64_t flags, std::uint64_t offset, std::uint64_t size);
  Buffer(Ref<SvmMemory> svm, std::uint64_t flags, std::uint64_t size, Ref<SessionCounters> counters);

  std::uint64_t size() const { return size_; }
  // Whether `size` bytes at `offset` lie in the buffer.
  bool contains(std::uint64_t offset, std::uint64_t size) const { return size <= size_ && offset <= size_ - size; }
  // The buffer to use in a copy of a rectangle or of pixels on `device`: the parent, with `offset` adjusted,
  // if the driver crashes on sub-buffers there.
  Ref<Buffer> copied(const Device& device, std::uint64_t& offset);
  // The shared virtual memory that contains it, or null.
  const SvmMemory* svm() const { return shared_svm().get(); }

 private:
  cl_int make(Device& device, Native& native) override REQUIRES(session_lock);

  const std::uint64_t flags_;
  const std::uint64_t offset_ = 0;      // in the parent
  const std::uint64_t svm_offset_ = 0;  // in svm()
  const std::uint64_t size_;
};

}  // namespace remotecl::server
