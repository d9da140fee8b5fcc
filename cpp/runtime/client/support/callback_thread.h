#pragma once

#include <functional>

namespace remotecl {

// Runs the application's callbacks, in order, on a thread of their own that is made with the first one, so that a
// callback may block or call back into OpenCL. Any thread may post.
void post_callback(std::function<void()> callback);

// Runs commands that this process carries out itself on a thread of theirs: a callback that waits for a lock which the
// thread that waits for the command holds (Python's) must not stand in their way.
void post_host_work(std::function<void()> work);

}  // namespace remotecl
