#pragma once

#include "runtime/store/content_store.h"
#include "server/isolation/errands.h"

namespace remotecl::server {

// The daemon's store as a session's process has it: the daemon says whose session that is, whatever the owner here.
// Any thread but that which receives from the channel.
class ErrandStore final : public ContentStore {
 public:
  explicit ErrandStore(Errands& errands) : errands_(errands) {}

  std::optional<std::vector<std::byte>> find(const std::string& owner, const Digest& key) override;
  void keep(const std::string& owner, const Digest& key, Bytes content) override;

 private:
  Errands& errands_;
};

}  // namespace remotecl::server
