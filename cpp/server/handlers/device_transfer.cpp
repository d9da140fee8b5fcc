#include "server/transfer/device_transfer.h"
#include "server/handlers/handlers.h"

namespace remotecl::server {

void handle(Session& session, const EnqueueTransfer& message) {
  Queue& on = session.objects().queue(message.queue);
  Device& source = session.objects().device(message.source);
  Event* event = session.issuer().begin_event(message.event, on, true);
  Region region;
  const cl_int error = session.objects().region_of(message, region);
  if (error != CL_SUCCESS) return session.issuer().fail(on, event, error);
  session.issuer().submit(on, event, message.wait_list,
                          DeviceTransferCommand{&session.transfers(), std::move(region), &source});
}

}  // namespace remotecl::server
