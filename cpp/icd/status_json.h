#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/protocol/messages.h"
#include "runtime/protocol/messages/rdma_status.h"
#include "runtime/transport/bulk/rdma_state.h"

// The JSON that remotecl.h documents for the status of a server.
namespace remotecl {

nlohmann::json traffic_json(const Traffic& traffic);
// `traffic`: of the same connections.
nlohmann::json rdma_json(const RdmaState& rdma, const Traffic& traffic);
// The same for this process, with what RDMA has cost it.
nlohmann::json own_rdma_json(const RdmaState& rdma, const Traffic& traffic);
// `name_of_peer`: returns the address of one of this process's servers.
nlohmann::json status_json(const StatusWithRdma& answer, const std::function<std::string(PeerId)>& name_of_peer);

}  // namespace remotecl
