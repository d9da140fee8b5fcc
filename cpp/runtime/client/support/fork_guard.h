#pragma once

#include <atomic>

#include <memory>

#include "runtime/handshake/joiner.h"

// A forked process shares its parent's sockets but none of its threads. If both wrote into a connection, it
// would be ruined for both. Therefore the child does not touch the connections, and says so.
namespace remotecl {

class Dialer;

// Whether this process was forked from one that had connected to a server. Any thread.
inline std::atomic<bool> g_is_forked_child{false};
inline bool in_forked_child() { return g_is_forked_child.load(std::memory_order_relaxed); }
// Explains it on stderr, once per process.
void say_forked();
// The same as text for people.
const char* forked_text();

// From now on a forked child closes its copy of the descriptor, so that the connection ends when the parent
// closes its own.
void give_up_in_child(int descriptor);
void forget_in_child(int descriptor);  // called before the descriptor is closed
// Does the same as long as the connection lives.
std::shared_ptr<Connection> unshared(std::unique_ptr<Connection> connection);
// Joins a session over such connections. The dialer must outlive the result.
Joiner unshared_joiner(const Dialer& dialer);

}  // namespace remotecl
