#pragma once

#include <vector>

#include "runtime/base/ref_counted.h"
#include "runtime/transport/address.h"
#include "server/status/status_report.h"

namespace remotecl::server {

// A session as the daemon's status sees it. Any thread; waits for no session's lock.
class StatusSource : public virtual RefCounted {
 public:
  // The client's address.
  virtual const Address& address() const = 0;
  virtual StatusReport::OfSession status() const = 0;
  virtual std::vector<StatusReport::OfLink> links() = 0;
  // Arranges that the end of the driver's present work becomes known, possibly later if the session is busy.
  virtual void find_ends() = 0;
};

}  // namespace remotecl::server
