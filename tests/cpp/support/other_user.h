#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace remotecl::testing {

inline constexpr uid_t kOtherUser = 65534;

// Runs `work` on a thread whose sockets are another user's. False where only root could.
template <class Work>
bool as_other_user(Work work) {
  if (::geteuid() != 0) return false;
  std::thread([&work] {
    ::syscall(SYS_setfsuid, kOtherUser);
    work();
  }).join();
  return true;
}

}  // namespace remotecl::testing
