#include "extras/scheduling/schedule/situation.h"

namespace remotecl::schedule {

Estimate Situation::estimate(DeviceId device) const {
  Estimate result;
  const Runtime time = runtime(device);
  const Inputs::Missing missing = inputs.missing(device);
  result.transfer = missing.seconds;
  result.bytes = static_cast<std::uint64_t>(missing.bytes);
  result.seconds = time.seconds;
  result.finish = queues[device].end(now, ready + result.transfer, time.seconds);
  result.measured = time.measured;
  return result;
}

}  // namespace remotecl::schedule
