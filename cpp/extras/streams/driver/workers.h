#pragma once

#include <functional>

namespace remotecl::plugins {

// Runs the work on a thread, an idle or a new one. A plugin's call may block its thread up to the operator's limit, so
// there can be a thread for each instance of a plugin, and some for copies.
void submit_work(std::function<void()> work);

}  // namespace remotecl::plugins
