#pragma once

#include "runtime/store/content_store.h"
#include "server/isolation/daemon_requests.h"

namespace remotecl::server {

// A session process's access to the daemon's store. Ignores the owners of entries, because the daemon knows whose
// session it is. Any thread except the one that receives from the channel.
class DaemonStore final : public ContentStore {
  class Uploads final : public ContentStore {
   public:
    explicit Uploads(DaemonRequests& requests) : requests_(requests) {}

    std::optional<std::vector<std::byte>> find(const std::string&, const Digest&) override { return std::nullopt; }
    void keep(const std::string& owner, const Digest& key, Bytes content) override;
    StoredContent open(const std::string& owner, const Digest& key) override;
    void doubt(const std::string&, const Digest& key) override { requests_.doubt_upload(key); }

   private:
    DaemonRequests& requests_;
  };

 public:
  explicit DaemonStore(DaemonRequests& requests) : requests_(requests), uploads_(requests) {}

  std::optional<std::vector<std::byte>> find(const std::string& owner, const Digest& key) override;
  void keep(const std::string& owner, const Digest& key, Bytes content) override;
  ContentStore* uploads() override { return &uploads_; }
  void introduce(const Digest& owner) override { requests_.introduce(owner); }

 private:
  DaemonRequests& requests_;
  Uploads uploads_;
};

}  // namespace remotecl::server
