#pragma once

#include <memory>

#include "extras/rdma/rdma_bulk_transport.h"
#include "extras/rdma/rdma_connector.h"
#include "extras/rdma/rdma_slot.h"
#include "runtime/handshake/bulk_offload.h"

namespace remotecl {

// A stream with RDMA channels beside it.
class RdmaStream final : public OffloadedStream {
 public:
  // `connector`: makes the channels, on the side that connected; null: the acceptor puts them into the slot.
  RdmaStream(std::shared_ptr<RdmaSlot> slot, std::shared_ptr<RdmaConnector> connector)
      : slot_(std::move(slot)), connector_(std::move(connector)) {}

  void start() override {
    if (connector_ != nullptr) connector_->start();
  }
  std::unique_ptr<BulkTransport> beside(std::unique_ptr<BulkTransport> stream) override {
    return std::make_unique<RdmaBulkTransport>(std::move(stream), slot_, connector_);
  }

 private:
  const std::shared_ptr<RdmaSlot> slot_;
  const std::shared_ptr<RdmaConnector> connector_;
};

}  // namespace remotecl
