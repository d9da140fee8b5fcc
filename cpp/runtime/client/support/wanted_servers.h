#pragma once

#include <string>
#include <vector>

// What a program is told that has named its servers in REMOTECL_SERVERS and computes elsewhere. Any thread.
namespace remotecl::wanted_servers {

// REMOTECL_REQUIRED, unless REMOTECL_DISABLE hides all servers: the program would rather end than compute elsewhere.
bool are_required();

// After the attempt to connect: what went wrong, and whether any server can be used. Where they are required and one
// cannot be had, this ends the process with exit code 1; where none can be used, it says that only this machine's
// devices are left.
void judge(const std::vector<std::string>& errors, bool can_use_any);

// A loader lists platforms, and nobody has named a server. Ends the process where one is required.
void judge_unnamed();

// At the end of a program that had them, made no context on them and did not so much as ask for a device's name.
void tell_unused();

}  // namespace remotecl::wanted_servers
