#pragma once

#include <cstddef>

#include "server/arguments/provided_argument.h"
#include "server/util/object_table.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The provided arguments that a client has made.
struct ProvidedTable {
  ObjectTable<ProvidedArgument> arguments GUARDED_BY(session_lock);  // no buffer has the same id
  std::size_t being_made GUARDED_BY(session_lock) = 0;               // others, which have no memory yet
  bool has_had_some GUARDED_BY(session_lock) = false;
};

}  // namespace remotecl::server
