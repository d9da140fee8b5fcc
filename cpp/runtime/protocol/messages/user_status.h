#pragma once

#include "runtime/protocol/messages/status.h"

// How much of each device each user has had. It follows StatusRdma in the same message.
namespace remotecl {

struct UserStatus {
  std::string_view user;
  std::uint32_t device;
  std::uint64_t busy_us;   // in which the driver was seen to have commands of the user
  std::uint64_t commands;  // that the driver was given
  std::uint64_t placed;    // kernels that automatic devices of the user's programs have placed there
  REMOTECL_FIELDS(user, device, busy_us, commands, placed)
};

struct StatusUsers {
  Sequence<UserStatus> users;  // those that the asker may see, with the devices that they have used
  REMOTECL_FIELDS(users)
};

struct StatusWeights {
  Array<std::uint64_t> of_sessions;  // in thousandths, in the order of `sessions`
  REMOTECL_FIELDS(of_sessions)
};

// Sockets of kernels.
struct SocketStatus {
  std::uint64_t open = 0;    // at present
  std::uint64_t opened = 0;  // so far
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  REMOTECL_FIELDS(open, opened, bytes_sent, bytes_received)

  SocketStatus& operator+=(const SocketStatus& other) {
    open += other.open, opened += other.opened;
    bytes_sent += other.bytes_sent, bytes_received += other.bytes_received;
    return *this;
  }
};

struct StatusSockets {
  Sequence<SocketStatus> of_users;  // in the order of `users`
  REMOTECL_FIELDS(of_users)
};

}  // namespace remotecl
