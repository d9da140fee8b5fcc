#pragma once

#include <map>
#include <string>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/device.h"

namespace remotecl {

// How many items of a kernel each device did in a second when it was divided last. One for the process; any thread.
class SpeedTable {
 public:
  static SpeedTable& instance() {
    static SpeedTable& table = *new SpeedTable;  // threads may outlive the end of main()
    return table;
  }

  // 0: not known.
  double speed(const std::string& kernel, const Device& device) const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = speeds_.find({kernel, &device});
    return found == speeds_.end() ? 0 : found->second;
  }
  void set(const std::string& kernel, const Device& device, double speed) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    speeds_[{kernel, &device}] = speed;
  }

 private:
  mutable Mutex mutex_;
  // A sub-device that has gone leaves its number behind: a wrong guess for the next one at its address.
  std::map<std::pair<std::string, const Device*>, double> speeds_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
