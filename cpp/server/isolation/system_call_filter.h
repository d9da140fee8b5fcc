#pragma once

namespace remotecl::server {

// Keeps this thread, and all that it starts, from system calls that neither a driver nor a session needs, and with
// which code that somebody else has brought would reach beyond its process: new sockets, other processes, memory and
// queues that processes share by name, keys of the user, namespaces, the machine's settings. They fail with EPERM.
// Descriptors that the process has, or is given, go on as ever. Needs PR_SET_NO_NEW_PRIVS. False when the kernel has no
// such filters (errno says why), or the processor is none that this knows.
bool filter_system_calls();

}  // namespace remotecl::server
