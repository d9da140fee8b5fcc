#include "extras/rdma/rdma_library.h"

#include <dlfcn.h>

#include <string>
#include <system_error>

namespace remotecl {
namespace {

struct Loaded {
  RdmaLibrary library;
  std::string missing;  // empty: everything is there
};

void* open_library(const char* name, const char* package, std::string& missing) {
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr && missing.empty()) {
    missing = std::string(name) + " cannot be loaded (Debian's package " + package + " has it)";
  }
  return handle;
}

template <class Function>
void find(Function& function, void* handle, const char* name, std::string& missing) {
  if (handle != nullptr) function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr && missing.empty()) missing = std::string("the RDMA libraries have no ") + name;
}

Loaded load() {
  Loaded loaded;
  std::string& missing = loaded.missing;
  void* const verbs = open_library("libibverbs.so.1", "libibverbs1", missing);
  void* const cm = open_library("librdmacm.so.1", "librdmacm1", missing);
#define REMOTECL_FIND(name) find(loaded.library.verbs.name, verbs, "ibv_" #name, missing);
  REMOTECL_VERBS_FUNCTIONS(REMOTECL_FIND)
#undef REMOTECL_FIND
#define REMOTECL_FIND(name) find(loaded.library.cm.name, cm, "rdma_" #name, missing);
  REMOTECL_CM_FUNCTIONS(REMOTECL_FIND)
#undef REMOTECL_FIND
  return loaded;
}

}  // namespace

const RdmaLibrary& RdmaLibrary::get() {
  static const Loaded& loaded = *new Loaded(load());  // never destroyed: threads may outlive static objects
  if (!loaded.missing.empty()) throw RdmaUnavailable(loaded.missing);
  return loaded.library;
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace remotecl
