#pragma once

#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"

namespace remotecl::server {

// Receives the ends of events: a peer. Any thread, including a driver's callback.
class EventSink : public virtual RefCounted {
 public:
  virtual void signal(EventId event, std::int32_t status) = 0;
};

}  // namespace remotecl::server
