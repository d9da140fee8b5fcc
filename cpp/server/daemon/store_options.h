#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/handshake/access_token.h"
#include "runtime/store/store.h"

namespace remotecl::server {

// The options for the store.
struct StoreOptions {
  // "none": there is none; "default": below the user's cache; empty: the same, unless the daemon is temporary.
  std::string folder;
  bool is_off = false;
  std::string size = "4 GiB";
  bool trusts_users = false;  // each user may run what others have built

  // `is_temporary`: the daemon ends with whoever has started it, and nothing is to stay behind. False: no store.
  bool wants_store(bool is_temporary) const { return !is_off && folder != "none" && !(folder.empty() && is_temporary); }
};

// Null when the folder cannot be used, of which the log has a line. Daemons that let in others by `token`, or by
// certificates signed by those in the file `client_ca`, find nothing of it. Throws std::invalid_argument for a size
// that is none.
std::unique_ptr<Store> open_store(const StoreOptions& options, const std::optional<AccessToken>& token,
                                  const std::string& client_ca);

}  // namespace remotecl::server
