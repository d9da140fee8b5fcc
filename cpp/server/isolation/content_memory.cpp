#include "server/isolation/content_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/sealed_memory.h"

namespace remotecl::server {
namespace {

template <class Transfer>
bool transfer_all(std::size_t size, Transfer&& transfer) {
  for (std::size_t at = 0; at < size;) {
    const ssize_t count = transfer(at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

Descriptor memory_with(Bytes content) {
  Descriptor memory(make_sealed_memory("remotecl-content", content.size()));
  const bool is_written =
      memory.valid() && transfer_all(content.size(), [&](std::size_t at) {
        return ::pwrite(memory.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
      });
  return is_written ? std::move(memory) : Descriptor();
}

std::optional<std::vector<std::byte>> read_memory(const Descriptor& memory, std::size_t size_max) {
  // Only memory has seals, so this is no pipe, no device and no file of a file system that never answers.
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(memory.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) > size_max) return std::nullopt;
  std::vector<std::byte> content(static_cast<std::size_t>(status.st_size));
  const bool is_read = transfer_all(content.size(), [&](std::size_t at) {
    return ::pread(memory.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
  });
  return is_read ? std::optional(std::move(content)) : std::nullopt;
}

}  // namespace remotecl::server
