#pragma once

#include <memory>
#include <utility>

#include "runtime/transport/connection.h"

namespace remotecl::loopback {

// Two connections of this process, connected to each other.
std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> make_pair();

}  // namespace remotecl::loopback
