#pragma once

#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"

namespace remotecl::server {

// Whoever the ends of events are passed on to: a peer. Any thread, also a driver's callback.
class EventSink : public virtual RefCounted {
 public:
  virtual void signal(EventId event, std::int32_t status) = 0;
};

}  // namespace remotecl::server
