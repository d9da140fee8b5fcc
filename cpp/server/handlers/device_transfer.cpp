#include "server/transfer/device_transfer.h"
#include "server/session/session.h"

namespace remotecl::server {

void Session::handle(const EnqueueTransfer& message) {
  Queue& on = queue(message.queue);
  Device& source = device(message.source);
  Event* event = issuer_.begin_event(message.event, on, true);
  Region region;
  const cl_int error = region_of(message, region);
  if (error != CL_SUCCESS) return issuer_.fail(on, event, error);
  issuer_.submit(on, event, message.wait_list, DeviceTransferCommand{this, std::move(region), &source});
}

void Session::move(Ref<Transfer> transfer, void (*work)(Transfer&, StagingPool&)) {
  movers_.post([session = Ref<Session>(this), transfer = std::move(transfer), work] {
    work(*transfer, session->rings_);
    session->finish_transfer(*transfer);
  });
}

}  // namespace remotecl::server
