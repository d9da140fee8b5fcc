#pragma once

#include <chrono>
#include <vector>

#include "runtime/transport/address.h"

namespace remotecl::tcp {

// The use of the addresses.
enum class Purpose { kConnect, kListen };

// Returns a host's numeric addresses in the order in which to try them; never none. The look-up runs on a
// thread of its own and is abandoned after `timeout`, because an unresponsive name server, or a directory
// service behind it, can take any time. Throws ConnectionError that names the host, the cause and the remedy.
std::vector<Address> resolve(const Address& address, std::chrono::milliseconds timeout,
                             Purpose purpose = Purpose::kConnect);

}  // namespace remotecl::tcp
