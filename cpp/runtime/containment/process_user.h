#pragma once

#include <string>
#include <vector>

namespace remotecl {

// Turns a process of root into one of a user that owns nothing else: `name`, which is a name or a number, or,
// if that is empty, a user id that no other process has. It keeps the groups of the GPUs' device files, and
// becomes the owner of `folder`, if that is not empty. All of `paths` must stay readable, or it remains root's. Drops
// all capabilities in any case. Must run before the process has a second thread. Returns why the process still belongs
// to the old user; empty on success.
std::string become_process_user(const std::string& name, const std::string& folder,
                                const std::vector<std::string>& paths);
// Whether this process has become one of a user that no other process has.
bool has_user_of_its_own();

}  // namespace remotecl
