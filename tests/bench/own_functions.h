#pragma once

namespace remotecl::bench {

// A function of remotecl.h. The programs link the loader and nothing of ours: the library is wherever the loader has
// found it. Throws ClError if it has not.
void* own_function(const char* name);
template <class Function>
Function* own_function(const char* name) {
  return reinterpret_cast<Function*>(own_function(name));
}

}  // namespace remotecl::bench
