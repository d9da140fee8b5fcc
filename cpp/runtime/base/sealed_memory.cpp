#include "runtime/base/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace remotecl {

int make_sealed_memory(const char* name, std::size_t size) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int descriptor = ::memfd_create(name, kFlags | MFD_NOEXEC_SEAL);
  if (descriptor < 0) descriptor = ::memfd_create(name, kFlags);  // Linux before 6.3
  if (descriptor < 0) return -1;
  if (::fchmod(descriptor, S_IRUSR | S_IWUSR) != 0 || ::ftruncate(descriptor, static_cast<off_t>(size)) != 0 ||
      ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return -1;
  }
  return descriptor;
}

}  // namespace remotecl
