#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/crypto/digest.h"

namespace remotecl {

// Keeps content under keys: digests of everything that the content depends on. `owner` names the user whose sessions
// may find what is kept; nobody else does. Any thread.
class ContentStore {
 public:
  virtual ~ContentStore() = default;

  virtual std::optional<std::vector<std::byte>> find(const std::string& owner, const Digest& key) = 0;
  // May fail silently: a store is a cache.
  virtual void keep(const std::string& owner, const Digest& key, Bytes content) = 0;
};

}  // namespace remotecl
