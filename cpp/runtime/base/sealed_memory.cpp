#include "runtime/base/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace remotecl {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// -1 after closing the descriptor, with errno as it was.
int give_up(int descriptor) {
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return -1;
}

// Whether a file of this size would kill the process (SIGXFSZ), which an application's process must not risk.
bool is_over_limit(std::size_t size) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < size;
}

// Memory of this size that takes further seals; -1: none.
int make_memory(const char* name, std::size_t size) {
  if (is_over_limit(size)) {
    errno = EFBIG;
    return -1;
  }
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int descriptor = ::memfd_create(name, kFlags | MFD_NOEXEC_SEAL);
  if (descriptor < 0) descriptor = ::memfd_create(name, kFlags);  // Linux before 6.3
  if (descriptor < 0) return -1;
  const bool is_made =
      ::fchmod(descriptor, S_IRUSR | S_IWUSR) == 0 && ::ftruncate(descriptor, static_cast<off_t>(size)) == 0;
  return is_made ? descriptor : give_up(descriptor);
}

}  // namespace

int make_sealed_memory(const char* name, std::size_t size) {
  const int descriptor = make_memory(name, size);
  if (descriptor < 0 || ::fcntl(descriptor, F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) == 0) return descriptor;
  return give_up(descriptor);
}

int make_published_memory(const char* name, std::size_t size, void*& mapped) {
  const int descriptor = make_memory(name, size);
  if (descriptor < 0) return -1;
  mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return give_up(descriptor);
  if (::fcntl(descriptor, F_ADD_SEALS, kSizeSeals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) return descriptor;
  const int error = errno;
  ::munmap(mapped, size);
  errno = error;
  return give_up(descriptor);
}

}  // namespace remotecl
