#include "server/wire/rdma_log.h"

#include <utility>

#include "server/util/log.h"

namespace remotecl::server {

std::function<void(const RdmaState&)> log_rdma(std::uint64_t session, std::string with) {
  return [session, with = std::move(with)](const RdmaState& state) {
    const LogScope scope(session);
    if (state.kind == RdmaState::Kind::kInUse) {
      log_info("bulk data with {} goes by RDMA: {}, {} to {}", with, state.port, state.address, state.peer_address);
    } else if (state.kind == RdmaState::Kind::kLost) {
      log_warning("RDMA with {} is lost, and TCP carries bulk data: {}", with, state.reason);
    } else if (state.kind == RdmaState::Kind::kUnavailable) {
      log_warning("there is no RDMA with {}, and TCP carries bulk data: {}", with, state.reason);
    }
  };
}

}  // namespace remotecl::server
