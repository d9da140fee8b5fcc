#pragma once

#include <string>
#include <vector>

// Reports to a program that names servers in REMOTECL_SERVERS but computes elsewhere. Any thread.
namespace remotecl::wanted_servers {

// REMOTECL_REQUIRED, unless REMOTECL_DISABLE hides all servers: the program must not compute elsewhere.
bool are_required();

// Called after connecting, with the errors and whether any server can be used. Returns true if the program gets those
// that can: if there are no errors, or REMOTECL_REQUIRED is off. Otherwise it gets none of them, and one line on stderr
// says why; or, if servers are required, the process ends with exit code 1.
bool judge(const std::vector<std::string>& errors, bool can_use_any);

// Called when a loader lists platforms and no server is named. Ends the process if servers are required.
void judge_unnamed();

// Called at the end of a program that had servers, but created no context on them and asked for no device's
// name.
void report_unused();

}  // namespace remotecl::wanted_servers
