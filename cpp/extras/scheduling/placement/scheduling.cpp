#include "extras/scheduling/placement/scheduling.h"

#include "extras/scheduling/placement/automatic_device.h"
#include "extras/scheduling/placement/automatic_queue.h"

namespace remotecl {

Scheduling& Scheduling::instance() {
  static Scheduling& scheduling = *new Scheduling;
  return scheduling;
}

Placement& Scheduling::placement() {
  static Placement& placement = []() -> Placement& {
    auto& made = *new Placement;
    Tracer::instance().sample_for(made);
    return made;
  }();
  return placement;
}

Device* Scheduling::make_device(Platform& platform, const std::vector<Device*>& devices) {
  return make_automatic_device(platform, devices);
}

std::unique_ptr<QueuePlacement> Scheduling::make_placement(CommandQueue& whole) {
  return std::make_unique<AutomaticQueue>(whole, placement());
}

}  // namespace remotecl
