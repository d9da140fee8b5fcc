#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "extras/streams/support/open_file.h"
#include "extras/streams/support/rules.h"

namespace remotecl::plugins {

// Sockets that the rules allow. All throw PluginError. `type`: SOCK_STREAM or SOCK_DGRAM; `address`: HOST:PORT.
File connect_socket(const Rules& rules, const std::string& address, int type, std::chrono::milliseconds patience);
// `address`: PORT or ADDRESS:PORT; without an address all of this machine's.
File listen_socket(const Rules& rules, const std::string& address, int type);
// Returns false if nothing is ready within that time.
bool wait_for_socket(int socket, short events, std::chrono::milliseconds time);

}  // namespace remotecl::plugins
