#include "runtime/client/support/wanted_servers.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/base/settings.h"
#include "runtime/client/support/stderr_notice.h"

namespace remotecl::wanted_servers {
namespace {

// REMOTECL_LOG does not silence this, because a process must not end without a reason. No destructor or exit
// handler runs, because the loader's locks and ours are held here.
[[noreturn]] void end_process(const std::string& reason) {
  std::fflush(stdout);
  std::fprintf(stderr, "remotecl: REMOTECL_REQUIRED is on, so the program ends here: %s\n", reason.c_str());
  std::_Exit(1);
}

}  // namespace

bool are_required() {
  const bool is_disabled = settings::on_or_off("REMOTECL_DISABLE").value_or(false);
  return !is_disabled && settings::on_or_off("REMOTECL_REQUIRED").value_or(false);
}

bool judge(const std::vector<std::string>& errors, bool can_use_any) {
  if (errors.empty()) return true;
  std::string reasons;
  for (const std::string& error : errors) reasons += (reasons.empty() ? "" : "; ") + error;
  if (are_required()) end_process(reasons);
  if (!can_use_any) {
    notice(reasons +
           "; none of the servers in REMOTECL_SERVERS can be used: this program gets this machine's devices only "
           "(REMOTECL_REQUIRED=1 would end it here)");
    return false;
  }
  const bool are_optional = !settings::on_or_off("REMOTECL_REQUIRED").value_or(true);
  notice(are_optional ? reasons
                      : reasons +
                            "; because not all servers in REMOTECL_SERVERS can be used, this program gets none of them "
                            "(REMOTECL_REQUIRED=0 would give it the others, REMOTECL_REQUIRED=1 would end it here)");
  return are_optional;
}

void judge_unnamed() {
  if (are_required()) end_process("REMOTECL_SERVERS names no server");
}

void report_unused() {
  notice(
      "the program has made no context on the servers in REMOTECL_SERVERS; what it computed, it computed on other "
      "devices (`remotecl run` shows a program no others)");
}

}  // namespace remotecl::wanted_servers
