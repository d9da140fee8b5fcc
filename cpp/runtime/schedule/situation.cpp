#include "runtime/schedule/situation.h"

namespace remotecl::schedule {

Estimate Situation::estimate(DeviceId device) const {
  Estimate result;
  const Runtime time = runtime(device);
  result.transfer = inputs.transfer(device);
  result.seconds = time.seconds;
  result.finish = queues[device].end(now, ready + result.transfer, time.seconds);
  result.bytes = inputs.bytes_missing(device);
  result.joules = time.seconds * cluster[device].watts;
  result.price = time.seconds * cluster[device].price_per_s;
  result.measured = time.measured;
  return result;
}

}  // namespace remotecl::schedule
