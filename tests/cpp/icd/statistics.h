#pragma once

#include <dlfcn.h>

#include <fstream>
#include <string>

#include "icd/environment.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {

// The sum over all servers of what remotecl_stats_json() says under this name.
inline std::uint64_t statistic(const std::string& name) {
  std::string path;
  std::ifstream(Environment::get().folder() + "/remotecl.icd") >> path;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto stats = reinterpret_cast<decltype(&remotecl_stats_json)>(::dlsym(library, "remotecl_stats_json"));
  const auto free_text = reinterpret_cast<decltype(&remotecl_free)>(::dlsym(library, "remotecl_free"));
  char* json = stats();
  const std::string text(json);
  free_text(json);
  ::dlclose(library);
  const std::string key = "\"" + name + "\":";
  std::uint64_t sum = 0;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    sum += std::stoull(text.substr(at + key.size()));
  }
  return sum;
}

}  // namespace remotecl::testing
