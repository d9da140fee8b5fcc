#pragma once

#include <dlfcn.h>

#include <fstream>
#include <string>

#include "icd/environment.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {

inline std::string statistics_json() {
  std::string path;
  std::ifstream(Environment::get().folder() + "/remotecl.icd") >> path;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto stats = reinterpret_cast<decltype(&remotecl_stats_json)>(::dlsym(library, "remotecl_stats_json"));
  const auto free_text = reinterpret_cast<decltype(&remotecl_free)>(::dlsym(library, "remotecl_free"));
  char* json = stats();
  std::string text(json);
  free_text(json);
  ::dlclose(library);
  return text;
}

// How many pairs of servers send to each other.
inline int connected_links() {
  static const std::string wanted = "\"state\":\"connected\"";
  const std::string text = statistics_json();
  int count = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++count;
  return count;
}

// The sum over all servers of what remotecl_stats_json() says under this name.
inline std::uint64_t statistic(const std::string& name) {
  const std::string text = statistics_json(), key = "\"" + name + "\":";
  std::uint64_t sum = 0;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    sum += std::stoull(text.substr(at + key.size()));
  }
  return sum;
}

}  // namespace remotecl::testing
