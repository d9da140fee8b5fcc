#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// Makes of a process of root one of a user that nothing else belongs to: `name`, a name or a number, or where that is
// empty one that no other process has. It keeps the groups of the GPUs' device files, and gets `folder` for its own.
// All of `paths` must stay readable: else it stays as it is. Drops all capabilities in any case. Before the process's
// second thread. Why it is not another user's now; empty: it is.
std::string become_session_user(const std::string& name, const std::string& folder,
                                const std::vector<std::string>& paths);

}  // namespace remotecl::server
