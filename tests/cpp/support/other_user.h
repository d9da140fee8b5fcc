#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace remotecl::testing {

inline constexpr uid_t kOtherUser = 65534;

// Runs `work` on a thread that is another user. False where only root could.
template <uid_t kUser = kOtherUser, class Work>
bool as_other_user(Work work) {
  if (::geteuid() != 0) return false;
  std::thread([&work] {
    ::syscall(SYS_setresuid, -1, kUser, -1);
    work();
  }).join();
  return true;
}

}  // namespace remotecl::testing
