#pragma once

namespace remotecl::server {

// Denies this thread, and everything it starts, the system calls that neither a driver nor a session needs
// and with which foreign code could reach beyond its process: new sockets, other processes, memory and queues
// shared by name, the user's keys, namespaces, and the machine's settings. They fail with EPERM. Descriptors
// that the process has or is given keep working. Needs PR_SET_NO_NEW_PRIVS. Returns false if the kernel does
// not support filters (errno says why) or the processor is unknown. `accepts`: it may accept connections, from the
// listening sockets that it is given.
bool filter_system_calls(bool accepts);

}  // namespace remotecl::server
