#pragma once

#include <dlfcn.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "icd/environment.h"

namespace remotecl::testing {

// A function of remotecl.h, in the library that the loader has loaded.
template <class Function>
Function* library_function(const char* name) {
  std::string path;
  std::ifstream(Environment::get().folder() + "/remotecl.icd") >> path;
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) throw std::runtime_error(path + " is not loaded");
  void* const function = ::dlsym(library, name);
  ::dlclose(library);  // the loader keeps it
  if (function == nullptr) throw std::runtime_error(std::string(name) + " is missing");
  return reinterpret_cast<Function*>(function);
}

}  // namespace remotecl::testing
