#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "extras/scheduling/schedule/division.h"
#include "runtime/base/mutex.h"
#include "runtime/client/objects/device.h"

namespace remotecl {

// How a kernel was divided last: each device's items per second, the time of its shortest piece, and its part of the
// range beside these others. `kernel`: any text that stands for its code and the dimension. Any thread.
class SpeedTable {
 public:
  using Devices = std::vector<const Device*>;
  // A program may make any number of kernels. A table with so many begins anew, because it holds only guesses.
  static constexpr std::size_t kDivisionsMax = 4096;

  schedule::DivisionHistory history(const std::string& kernel, const Devices& devices) const EXCLUDES(mutex_) {
    schedule::DivisionHistory history;
    const MutexLock lock(mutex_);
    for (const Device* device : devices) {
      const auto found = known_.find({kernel, device});
      const Known known = found == known_.end() ? Known{} : found->second;
      history.speeds.push_back(known.speed);
      history.shortest.push_back(known.shortest);
    }
    if (const auto found = shares_.find({kernel, devices}); found != shares_.end()) history.shares = found->second;
    return history;
  }
  void set(const std::string& kernel, const Devices& devices, schedule::DivisionHistory history) EXCLUDES(mutex_) {
    std::pair key(kernel, devices);
    const MutexLock lock(mutex_);
    if (shares_.size() >= kDivisionsMax && !shares_.contains(key)) {
      known_.clear();
      shares_.clear();
    }
    for (std::size_t at = 0; at < devices.size(); ++at) {
      if (history.speeds[at] > 0) known_[{kernel, devices[at]}] = {history.speeds[at], history.shortest[at]};
    }
    shares_[std::move(key)] = std::move(history.shares);
  }

 private:
  struct Known {
    double speed = 0;
    schedule::Seconds shortest = 0;
  };

  mutable Mutex mutex_;
  // A destroyed sub-device leaves its entry behind, which is a wrong guess for the next one at its address.
  std::map<std::pair<std::string, const Device*>, Known> known_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, Devices>, std::vector<double>> shares_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
