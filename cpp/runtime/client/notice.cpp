#include "runtime/client/notice.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace remotecl {

void notice(const std::string& text) {
  const char* log = std::getenv("REMOTECL_LOG");
  if (log != nullptr && std::string_view(log) == "off") return;
  std::fprintf(stderr, "remotecl: %s\n", text.c_str());
}

}  // namespace remotecl
