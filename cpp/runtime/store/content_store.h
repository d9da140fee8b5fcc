#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/crypto/digest.h"
#include "runtime/store/stored_content.h"

namespace remotecl {

// Keeps content under keys, which are digests of everything that the content depends on. Only sessions of the
// same `owner` find it. Any thread.
class ContentStore {
 public:
  virtual ~ContentStore() = default;

  virtual std::optional<std::vector<std::byte>> find(const std::string& owner, const Digest& key) = 0;
  // May fail silently: a store is a cache.
  virtual void keep(const std::string& owner, const Digest& key, Bytes content) = 0;
  // For large content, which need not be in memory at once. Not valid if there is none.
  virtual StoredContent open(const std::string& /*owner*/, const Digest& /*key*/) { return StoredContent(); }
  // Opened content was damaged: it is verified before it is opened again.
  virtual void doubt(const std::string& /*owner*/, const Digest& /*key*/) {}
  // Where the chunks of uploads are kept, under their digests; null: nowhere. Nothing of one is found in the other.
  virtual ContentStore* uploads() { return nullptr; }
  // Whether each user may run what others have built.
  virtual bool trusts_users() const { return false; }
  // What the session's client says of its owner in Introduce. For those that serve one session and do not know it.
  virtual void introduce(const Digest& /*owner*/) {}
};

}  // namespace remotecl
