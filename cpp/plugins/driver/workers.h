#pragma once

#include <functional>

namespace remotecl::plugins {

// Has a thread do it: an idle one, or a new one. A call of a plugin may keep its thread as long as the operator's limit
// allows; there are no more threads than instances of plugins can block, and some for copies.
void submit_work(std::function<void()> work);

}  // namespace remotecl::plugins
