#include "extras/rdma/rdma_offload.h"

#include <utility>

#include "extras/rdma/rdma_acceptor.h"
#include "extras/rdma/rdma_connector.h"
#include "extras/rdma/rdma_ports.h"
#include "extras/rdma/rdma_request.h"
#include "extras/rdma/rdma_stream.h"
#include "runtime/handshake/bulk_upgrade.h"

namespace remotecl {
namespace {

class RdmaOffload final : public BulkOffload {
 public:
  bool has_device() const override { return has_rdma_device(); }
  void prepare_for_containment() override { remember_local_addresses(); }
  std::unique_ptr<BulkOffloadAcceptor> accept_at(std::string host) override {
    return std::make_unique<RdmaAcceptor>(std::move(host));
  }
  std::shared_ptr<OffloadedStream> connect(const RdmaOffer& offer, const BulkEnd& end) override {
    std::vector<Address> addresses = addresses_of(offer);
    if (end.may_dial) std::erase_if(addresses, [&end](const Address& each) { return !end.may_dial(each.host); });
    auto slot = std::make_shared<RdmaSlot>(end.rdma_report, end.rdma_hold);
    auto connector = std::make_shared<RdmaConnector>(std::move(addresses), offer.ticket, end.rdma_key, slot);
    return std::make_shared<RdmaStream>(std::move(slot), std::move(connector));
  }
};

}  // namespace

BulkOffload& rdma_offload() {
  static BulkOffload& offload = *new RdmaOffload;  // connections may outlive main()
  return offload;
}

}  // namespace remotecl
