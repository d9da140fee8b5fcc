#pragma once

#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>

#include "runtime/schedule/ids.h"

namespace remotecl::schedule {

// For people: "12.1 ms".
inline std::string in_units(Seconds seconds) {
  char text[32];
  const double size = std::abs(seconds);
  if (size < 1e-3) {
    std::snprintf(text, std::size(text), "%.1f us", seconds * 1e6);
  } else if (size < 1) {
    std::snprintf(text, std::size(text), "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, std::size(text), "%.1f s", seconds);
  }
  return text;
}

}  // namespace remotecl::schedule
