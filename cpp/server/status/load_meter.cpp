#include "server/status/load_meter.h"

#include <algorithm>

namespace remotecl::server {

void LoadMeter::look(Time now, std::uint64_t ended, bool is_running) {
  if (last_ == Time{}) {
    busy_ = {};
    progress_ = now;
  } else {
    if (is_running) busy_ += now - last_;
    if (is_running && !was_running_) progress_ = now;
    if (ended > ended_) {
      const double batch = busy_.count() / static_cast<double>(ended - ended_);
      mean_ = mean_ == 0 ? batch : mean_ + kNewest * (batch - mean_);
      busy_ = {};
      progress_ = now;
    }
  }
  last_ = now;
  ended_ = ended;
  was_running_ = is_running;
}

double LoadMeter::seconds(std::uint64_t commands, bool is_running) const {
  const double expected = static_cast<double>(commands) * (mean_ == 0 ? kGuess : mean_);
  return is_running ? std::max(expected, Seconds(last_ - progress_).count()) : expected;
}

}  // namespace remotecl::server
