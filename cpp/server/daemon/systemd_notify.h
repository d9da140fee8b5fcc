#pragma once

namespace remotecl::server {

// Tells systemd that the daemon listens, if it has started this process and waits for that (Type=notify).
void tell_service_manager();

}  // namespace remotecl::server
