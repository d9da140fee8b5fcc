#pragma once

#include <cstddef>
#include <memory>

#include "runtime/transport/connection.h"
#include "runtime/transport/shm/shared_memory_segment.h"

// Two processes that have a stream connection (TCP) to each other make one through memory of it, if they can: the one
// calls offer(), the other accept(), both while nothing is on its way. An offer and an answer of a few bytes cross the
// connection; set a read timeout first if the peer is not trusted to send them, and afterwards the one that is wanted
// on what comes back. That is
//   - a connection through memory, which keeps the stream connection as its doorbell (SharedMemoryConnection), or
//   - the connection that was given: the two are not on one host, or must not see each other there. A normal answer; or
//   - null: the peer is gone, or did not behave.
namespace remotecl::shared_memory {

// False with REMOTECL_SHARED_MEMORY=off in the environment.
bool wanted();

std::unique_ptr<Connection> offer(std::unique_ptr<Connection> stream,
                                  std::size_t ring_bytes = SharedMemorySegment::kRingBytes);
std::unique_ptr<Connection> accept(std::unique_ptr<Connection> stream);

}  // namespace remotecl::shared_memory
