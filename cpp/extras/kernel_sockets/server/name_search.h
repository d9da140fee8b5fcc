#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "extras/kernel_sockets/space/remote_names.h"
#include "extras/kernel_sockets/space/waking_endpoint.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

class LinkPipes;

// A kernel's search for a name on other servers. They are asked one after the other, because whoever has the name
// connects at once. Used by one thread at a time.
class NameSearch final : public RefCounted {
 public:
  // `is_complete`: `links` are all servers that may have the name.
  NameSearch(RemoteNames::Order order, std::vector<Ref<LinkPipes>> links, bool is_complete);
  ~NameSearch() override;

  const std::string& name() const { return order_.name; }
  // Asks the next server, or answers the kernel if there is none. Do not use this object afterwards.
  void go_on();

  // ---- The answer of the server that was asked last.
  void found(std::unique_ptr<WakingEndpoint> end);
  // ENOENT: it does not have the name.
  void refused(int error);
  void lost();

 private:
  const RemoteNames::Order order_;
  const std::vector<Ref<LinkPipes>> links_;
  std::size_t next_ = 0;
  bool is_complete_;
};

}  // namespace remotecl::server
