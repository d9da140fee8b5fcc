#pragma once

#include "server/session/handler_table.h"

namespace remotecl::server {

// The handlers of all messages that a client may send.
const HandlerTable& handler_table();

}  // namespace remotecl::server
