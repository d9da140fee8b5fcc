#include "extras/streams/instance/shared_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "runtime/base/sealed_memory.h"

namespace remotecl::plugins {
namespace {

std::atomic<std::uint64_t> last_id{0};
std::atomic<std::size_t> block_count{0};

}  // namespace

SharedBlock::SharedBlock(int descriptor, std::byte* data, std::size_t size)
    : id_(++last_id), descriptor_(descriptor), data_(data), size_(size) {}

std::shared_ptr<SharedBlock> SharedBlock::make(std::size_t size) {
  if (++block_count > kCountMax) {
    --block_count;
    return nullptr;
  }
  const int descriptor = make_sealed_memory("remotecl-plugin", size);
  void* const data =
      descriptor < 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    if (descriptor >= 0) ::close(descriptor);
    --block_count;
    return nullptr;
  }
  return std::shared_ptr<SharedBlock>(new SharedBlock(descriptor, static_cast<std::byte*>(data), size));
}

SharedBlock::~SharedBlock() {
  ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_));
  ::munmap(data_, size_);
  ::close(descriptor_);
  --block_count;
}

}  // namespace remotecl::plugins
