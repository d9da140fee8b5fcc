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

  // `is_temporary`: the daemon ends with the program that started it, and nothing may stay behind.
  bool wants_store(bool is_temporary) const { return !is_off && folder != "none" && !(folder.empty() && is_temporary); }
};

// Returns null, and logs why, if the folder cannot be used. A daemon with another `token`, or with another file
// `client_ca` of authorities that sign clients' certificates, does not find these entries. Throws
// std::invalid_argument for an invalid size.
std::unique_ptr<Store> open_store(const StoreOptions& options, const std::optional<AccessToken>& token,
                                  const std::string& client_ca);

}  // namespace remotecl::server
