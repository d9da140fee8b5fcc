#pragma once

#include <chrono>
#include <vector>

#include "runtime/transport/address.h"

namespace remotecl::tcp {

// What the addresses of a host are for.
enum class Purpose { kConnect, kListen };

// The addresses that a host's name stands for, as numbers, in the order in which they are to be tried; never none.
// A name is looked up on a thread of its own, and given up after `timeout`: a name server that does not answer, or a
// directory service behind it, takes as long as it likes. Throws ConnectionError that names the host, the cause and
// the remedy.
std::vector<Address> resolve(const Address& address, std::chrono::milliseconds timeout,
                             Purpose purpose = Purpose::kConnect);

}  // namespace remotecl::tcp
