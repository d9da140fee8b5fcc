#include "server/execution/event.h"

namespace remotecl::server {

Event::Event(EventId event_id, ObjectId queue_id, Device* on_device, bool with_profile)
    : id(event_id), queue(queue_id), device(on_device), profiled(with_profile) {}

}  // namespace remotecl::server
