#include "runtime/containment/process_limits.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>

namespace remotecl {
namespace {

constexpr rlim_t kFileMax = rlim_t{64} << 30;  // bytes; what a driver shares or caches is in files, too
constexpr rlim_t kDescriptorsMax = 65536;
constexpr rlim_t kUntouched = rlim_t{8} << 30;  // bytes: stacks of threads and the like, of which little is used
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;  // a sanitizer maps more than the machine has
#else
constexpr bool kIsSanitized = false;
#endif

void lower(int resource, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

// Memory and swap space, and what a process may reserve besides, in bytes.
rlim_t memory_of_machine() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return RLIM_INFINITY;
  return (static_cast<rlim_t>(info.totalram) + info.totalswap) * info.mem_unit + kUntouched;
}

}  // namespace

void limit_process(const ProcessLimits& limits) {
  lower(RLIMIT_CORE, 0);
  if (limits.bounds_files) lower(RLIMIT_FSIZE, kFileMax);
  lower(RLIMIT_NOFILE, kDescriptorsMax);
  if (limits.bounds_memory && !kIsSanitized) lower(RLIMIT_DATA, memory_of_machine());
  // The system counts all threads of a user, and none of root's.
  if (limits.is_only_one_of_user) lower(RLIMIT_NPROC, kProcessThreadsMax);
}

}  // namespace remotecl
