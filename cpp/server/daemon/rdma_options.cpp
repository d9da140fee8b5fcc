#include "server/daemon/rdma_options.h"

#include <cstdlib>

#include "runtime/handshake/rdma_request.h"
#include "runtime/transport/connection.h"

namespace remotecl::server {

std::unique_ptr<RdmaAcceptor> open_rdma(const std::string& option, const Address& listen) {
  const bool is_word = option.empty() || option == "auto" || option == "off" || option == "require";
  if (!option.empty()) ::setenv("REMOTECL_RDMA", is_word ? option.c_str() : "auto", 1);
  const bool is_required = !is_word || rdma_use() == RdmaUse::kRequire;
  if (!is_required && rdma_features() == 0) return nullptr;
  auto rdma = std::make_unique<RdmaAcceptor>(is_word ? listen.host : option);
  if (!is_required) return rdma;  // listens when the first client asks
  std::string cause;
  if (rdma->addresses(&cause).empty()) throw ConnectionError("--rdma " + option + ": " + cause);
  return rdma;
}

}  // namespace remotecl::server
