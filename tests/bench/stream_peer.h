#pragma once

#include "runtime/transport/connection.h"

namespace remotecl::bench {

// What two processes do to measure a connection between them. One end serves until the other one closes.
//
// Receives transfers into memory of their own size, as a buffer's bytes are, and confirms them; echoes messages after
// begin_echo().
void serve(Connection& connection);

// Seconds until the other end has all of it. Throws std::runtime_error when that is gone.
double send(Connection& connection, Bytes data);

void begin_echo(Connection& connection);
// Seconds that a message of 64 bytes takes there and back, after begin_echo().
double round_trip(Connection& connection);

}  // namespace remotecl::bench
