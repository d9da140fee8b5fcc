#pragma once

#include <functional>

namespace remotecl {

// Runs the application's callbacks, in order, on a thread of their own that is made with the first one, so that a
// callback may block or call back into OpenCL. Any thread may post.
void post_callback(std::function<void()> callback);

}  // namespace remotecl
