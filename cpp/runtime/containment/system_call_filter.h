#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl {

// Which system calls a process may make.
enum class CallFilter {
  kAllowList,  // what a compiler, a linker, threads and our own code need, and nothing else; see system_call_lists.h
  kDenyList,   // all but what is known to lead out of the process
  kAudit,      // as kDenyList; calls that kAllowList would refuse are reported
};

// "allow", "deny" or "audit".
std::optional<CallFilter> parse_call_filter(std::string_view name);
std::string_view name_of(CallFilter filter);

// What a process needs besides.
struct CallRules {
  CallFilter filter = CallFilter::kAllowList;
  bool accepts = false;           // connections, from the listening sockets that it is given
  bool makes_sockets = false;     // of IPv4 and IPv6
  bool opens_below = false;       // opens files with openat2(), which keeps it below a folder
  bool controls_devices = false;  // has files of devices, and may give them any command
};

// Takes one line for people about each system call that is refused, or would be. Called in a process of its own, the
// CallWatcher.
using CallReport = std::function<void(const std::string& line)>;

// Restricts this thread, and everything it starts, in its system calls. Calls that are not allowed fail with EPERM, and
// are reported, the first of a kind once; `report` empty: they are not, and neither are those of kDenyList. Descriptors
// that the process has or is given keep working. Needs PR_SET_NO_NEW_PRIVS, and a process with one thread.
// Returns which promises do not hold and why, each as text for people.
std::vector<std::string> filter_system_calls(const CallRules& rules, const CallReport& report);

}  // namespace remotecl
