#pragma once

#include "server/fixture.h"

namespace remotecl::testing {

// All sessions have ended, or end soon.
inline bool is_empty(const server::Server& server) {
  return ServerTest::eventually([&] { return server.sessions() == 0; });
}

}  // namespace remotecl::testing
