#pragma once

#include <cstddef>
#include <memory>

#include "runtime/transport/connection.h"
#include "runtime/transport/shm/shared_memory_segment.h"

// Two processes with a stream connection (TCP) turn it into one through shared memory, if they can. One calls
// offer(), the other accept(), while no other bytes are in flight. An offer and an answer of a few bytes
// cross the connection. If the peer is not trusted to send them, set a read timeout before, and the wanted
// one afterwards on the result. The result is
//   - a connection through memory, which keeps the stream connection as its doorbell (SharedMemoryConnection),
//   - the given connection, if the two are on different hosts or may not share memory: a normal answer, or
//   - null, if the peer is gone or broke the rules.
// Both throw std::system_error where this process lacks descriptors for it; the peer sees the stream's end.
namespace remotecl::shared_memory {

// Returns false if REMOTECL_SHARED_MEMORY=off is in the environment.
bool wanted();

std::unique_ptr<Connection> offer(std::unique_ptr<Connection> stream,
                                  std::size_t ring_bytes = SharedMemorySegment::kRingBytes);
std::unique_ptr<Connection> accept(std::unique_ptr<Connection> stream);

}  // namespace remotecl::shared_memory
