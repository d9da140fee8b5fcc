#include "server/driver/large_stacks.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>

namespace remotecl::server {
namespace {

constexpr std::uint64_t kStackMax = std::uint64_t{1} << 30;

// Whether the system counts memory that is never used. Then large stacks may keep threads from starting.
bool counts_unused_memory() {
  char mode = 0;
  return std::ifstream("/proc/sys/vm/overcommit_memory").get(mode) && mode == '2';
}

// Such that a stack for each processor never takes more than a quarter of the memory that this process may have.
std::size_t wanted_size(std::size_t usual) {
  if (counts_unused_memory()) return usual;
  const auto number = [](int name) { return static_cast<std::uint64_t>(std::max(::sysconf(name), 1L)); };
  rlimit may_have{};
  ::getrlimit(RLIMIT_AS, &may_have);
  const std::uint64_t memory =
      std::min<std::uint64_t>(number(_SC_PHYS_PAGES) * number(_SC_PAGESIZE), may_have.rlim_cur);
  const std::uint64_t share = memory / 4 / number(_SC_NPROCESSORS_CONF) & ~(number(_SC_PAGESIZE) - 1);
  return static_cast<std::size_t>(std::max<std::uint64_t>(std::min(kStackMax, share), usual));
}

}  // namespace

LargeStacks::LargeStacks() {
#ifdef __GLIBC__
  std::size_t usual = 0;
  pthread_attr_t large;
  if (::pthread_getattr_default_np(&before_) != 0 || ::pthread_attr_init(&large) != 0) return;
  ::pthread_attr_getstacksize(&before_, &usual);
  ::pthread_attr_setstacksize(&large, wanted_size(usual));
  is_changed_ = ::pthread_setattr_default_np(&large) == 0;
  ::pthread_attr_destroy(&large);
#endif
}

LargeStacks::~LargeStacks() {
#ifdef __GLIBC__
  if (is_changed_) ::pthread_setattr_default_np(&before_);
#endif
}

}  // namespace remotecl::server
