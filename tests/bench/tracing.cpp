#include "tracing.h"

#include <dlfcn.h>
#include <link.h>

#include <string>

#include "opencl_objects.h"
#include "remotecl/remotecl.h"

namespace remotecl::bench {
namespace {

// This program links the loader and nothing of ours: the library is wherever the loader has found it.
void* library() {
  static void* const handle = [] {
    std::string path;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* found) {
          const std::string name = info->dlpi_name;
          if (name.ends_with("/libremotecl.so")) *static_cast<std::string*>(found) = name;
          return 0;
        },
        &path);
    return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  }();
  if (handle == nullptr) throw ClError("libremotecl.so is not loaded: there is nothing to trace");
  return handle;
}

template <class Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(library(), name));
}

}  // namespace

Tracing::Tracing() {
  if (function<decltype(remotecl_trace_start)>("remotecl_trace_start")(0, nullptr) != 0) {
    throw ClError("a trace is running already");
  }
}

Tracing::~Tracing() {
  function<decltype(remotecl_free)>("remotecl_free")(
      function<decltype(remotecl_trace_stop)>("remotecl_trace_stop")(10));
}

}  // namespace remotecl::bench
