#pragma once

#include <string>

#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {

inline std::string statistics_json() {
  const auto stats = library_function<decltype(remotecl_stats_json)>("remotecl_stats_json");
  const auto free_text = library_function<decltype(remotecl_free)>("remotecl_free");
  char* json = stats();
  std::string text(json);
  free_text(json);
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
