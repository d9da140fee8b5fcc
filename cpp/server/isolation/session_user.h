#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// Turns a process of root into one of a user that owns nothing else: `name`, which is a name or a number, or,
// if that is empty, a user id that no other process has. It keeps the groups of the GPUs' device files, and
// becomes the owner of `folder`. All of `paths` must stay readable, or it remains root's. Drops all
// capabilities in any case. Must run before the process has a second thread. Returns why the process still
// belongs to the old user; empty on success.
std::string become_session_user(const std::string& name, const std::string& folder,
                                const std::vector<std::string>& paths);

}  // namespace remotecl::server
