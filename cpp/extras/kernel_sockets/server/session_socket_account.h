#pragma once

#include <vector>

#include "extras/kernel_sockets/space/socket_account.h"
#include "server/admission/users.h"

namespace remotecl::server {

// Counts the sockets of a session's kernels, their memory, and what passes through them, against the limits of the
// session and its user. Any thread.
class SessionSocketAccount final : public SocketAccount {
 public:
  explicit SessionSocketAccount(const Grant& grant)
      : quota_(grant.memory()), rate_limits_(grant.kernel_rate_limits()) {}

  bool open_socket() override;
  void close_socket() override;
  bool hold_memory(std::uint64_t size) override;
  void free_memory(std::uint64_t size) override;
  void pay(std::uint64_t bytes) override;
  std::chrono::nanoseconds debt() const override;

 private:
  const Ref<MemoryQuota> quota_;
  const std::vector<Ref<RateLimit>> rate_limits_;
};

}  // namespace remotecl::server
