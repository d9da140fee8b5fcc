#pragma once

#include "extras/scheduling/placement/placement.h"
#include "runtime/client/objects/queue_placement.h"

namespace remotecl {

// The automatic devices of this process, whose queues share one placement. Never destroyed: sessions, which report
// loads and samples to the placement, are not either, and threads may outlive main(). Any thread.
class Scheduling final : public AutomaticDevices {
 public:
  static Scheduling& instance();

  // Made at the first call.
  Placement& placement();

  Device* make_device(Platform& platform, const std::vector<Device*>& devices) override;
  std::unique_ptr<QueuePlacement> make_placement(CommandQueue& whole) override;
  std::vector<Count> counts() override { return placement().counts(); }
};

}  // namespace remotecl
