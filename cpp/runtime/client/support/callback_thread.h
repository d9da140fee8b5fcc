#pragma once

#include <functional>

namespace remotecl {

// Starts the thread of callbacks, which then stays; false where there is none for it. Ask before a callback is
// promised: once an event has ended, nobody can be told.
bool can_call_back();
// Runs the application's callbacks in order on a thread of their own, which is started with the first one. So
// a callback may block or call OpenCL. Any thread may post.
void post_callback(std::function<void()> callback);

bool can_do_host_work();  // likewise
// Runs commands that this process executes itself, on another thread. A callback may wait for a lock
// (Python's) that is held by a thread that waits for such a command, so it must not delay the command.
void post_host_work(std::function<void()> work);

}  // namespace remotecl
