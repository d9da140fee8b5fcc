#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/store/content_store.h"

namespace remotecl::server {

// A session's store that also keeps what drivers cache in the session's folder, such as the kernels that PoCL has
// compiled for a size of work-groups: the folder ends with the session, and later sessions of the same owner would
// compile them again. Any thread.
class DriverCache final : public ContentStore {
 public:
  // Less than a store keeps under one key. If the files are more, those that were used last are kept.
  static constexpr std::size_t kSizeMax = 24u << 20;

  // `store` must outlive it.
  DriverCache(ContentStore& store, std::filesystem::path folder) : store_(store), folder_(std::move(folder)) {}

  // Brings the files, before the client's next message can build anything.
  void introduce(const Digest& owner) override;
  std::optional<std::vector<std::byte>> find(const std::string& owner, const Digest& key) override {
    return store_.find(owner, key);
  }
  void keep(const std::string& owner, const Digest& key, Bytes content) override { store_.keep(owner, key, content); }
  ContentStore* uploads() override { return store_.uploads(); }

  // The session has ended: keeps the files if they have changed.
  void save();

 private:
  std::vector<std::byte> pack() const;
  void unpack(Bytes packed) const;

  ContentStore& store_;
  const std::filesystem::path folder_;
  std::vector<std::byte> former_;  // used by the session's thread, and by save() after it
};

}  // namespace remotecl::server
