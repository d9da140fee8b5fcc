// A process that loads this (LD_PRELOAD) finds the Landlock and the anonymous memory of an older Linux:
// REMOTECL_OLDER_LANDLOCK=N is the version of Landlock; 0: there is none.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;

int version() {
  static const int chosen = [] {
    const char* const text = std::getenv("REMOTECL_OLDER_LANDLOCK");
    return text == nullptr ? 1000 : std::atoi(text);
  }();
  return chosen;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

long fail(int error) {
  errno = error;
  return -1;
}

// Whether an older kernel would take these attributes: it refuses rights and sizes that it does not know.
int error_of_attributes(const void* attributes, std::size_t size) {
  const auto* const words = static_cast<const std::uint64_t*>(attributes);
  const unsigned rights = version() == 1 ? 13 : version() == 2 ? 14 : version() < 5 ? 15 : 16;
  if (size < sizeof *words) return EINVAL;
  if ((words[0] >> rights) != 0) return EINVAL;
  if (version() < 4 && size > sizeof *words && words[1] != 0) return E2BIG;
  if (version() < 6 && size > 2 * sizeof *words && words[2] != 0) return E2BIG;
  return 0;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& each : arguments) each = va_arg(list, long);
  va_end(list);
  if (number >= kCreateRuleset && number <= kRestrictSelf && version() == 0) return fail(EOPNOTSUPP);
  if (number == kCreateRuleset && version() < 1000) {
    if (static_cast<unsigned>(arguments[2]) == kAskVersion) return version();
    const int error = error_of_attributes(reinterpret_cast<const void*>(arguments[0]), arguments[1]);
    if (error != 0) return fail(error);
  }
  return real<long(long, long, long, long, long, long, long)>("syscall")(
      number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

extern "C" [[gnu::visibility("default")]] int memfd_create(const char* name, unsigned flags) noexcept {
  constexpr unsigned kKnown = 7;  // MFD_CLOEXEC, MFD_ALLOW_SEALING and MFD_HUGETLB; MFD_NOEXEC_SEAL is of Linux 6.3
  if (version() < 4 && (flags & 0x1f & ~kKnown) != 0) return static_cast<int>(fail(EINVAL));
  return real<int(const char*, unsigned)>("memfd_create")(name, flags);
}
