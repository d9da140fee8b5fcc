#pragma once

#include <string_view>

#include "runtime/crypto/digest.h"

namespace remotecl {

// What this user's programs tell a server in Introduce, so that it knows their sessions from those of others with the
// same token. `server`: what the server has proved to be, or at least its address; another server gets another value,
// from which none of the others follows. Zeros if this user has no private folder for the secret. Any thread.
Digest owner_for(std::string_view server);

}  // namespace remotecl
