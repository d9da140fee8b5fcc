#pragma once

#include "runtime/protocol/messages/status.h"

// How much of each device each user has had. It follows StatusRdma in the same message.
namespace remotecl {

struct UserStatus {
  std::string_view user;
  std::uint32_t device;
  std::uint64_t busy_us;   // in which the driver was seen to have commands of the user
  std::uint64_t commands;  // that the driver was given
  REMOTECL_FIELDS(user, device, busy_us, commands)
};

struct StatusUsers {
  Sequence<UserStatus> users;  // those that the asker may see, with the devices that they have used
  REMOTECL_FIELDS(users)
};

}  // namespace remotecl
