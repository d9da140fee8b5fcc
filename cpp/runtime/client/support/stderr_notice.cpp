#include "runtime/client/support/stderr_notice.h"

#include <cstdio>

#include "runtime/base/settings.h"

namespace remotecl {

void notice(const std::string& text) {
  if (!settings::on_or_off("REMOTECL_LOG").value_or(true)) return;
  std::fprintf(stderr, "remotecl: %s\n", text.c_str());
}

}  // namespace remotecl
