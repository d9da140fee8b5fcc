#pragma once

#include <atomic>

#include <memory>

#include "runtime/handshake/stripes.h"

// A process that was forked off shares its parent's sockets but none of its threads: two processes that write into one
// connection would ruin it for both. The child keeps its hands off, and says so.
namespace remotecl {

class Dialer;

// Whether this process was forked off one that had connected to a server. Any thread.
inline std::atomic<bool> g_is_forked_child{false};
inline bool in_forked_child() { return g_is_forked_child.load(std::memory_order_relaxed); }
// Says why, once in a process, on stderr.
void say_forked();
// The same for people.
const char* forked_text();

// From now on a child that is forked off gives up its copy of the descriptor: the parent's end must be the end of the
// connection.
void give_up_in_child(int descriptor);
void forget_in_child(int descriptor);  // it is about to be closed
// The same for as long as the connection lives.
std::shared_ptr<Connection> unshared(std::unique_ptr<Connection> connection);
// Makes such connections. The dialer outlives it.
Dial unshared_dial(const Dialer& dialer);

}  // namespace remotecl
