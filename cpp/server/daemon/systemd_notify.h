#pragma once

namespace remotecl::server {

// Notifies systemd that the daemon listens, if systemd has started this process and waits for it
// (Type=notify).
void notify_service_manager();

}  // namespace remotecl::server
