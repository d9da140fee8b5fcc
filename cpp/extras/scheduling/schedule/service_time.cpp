#include "extras/scheduling/schedule/service_time.h"

#include <algorithm>

namespace remotecl::schedule {

Seconds ServiceTime::seconds(const Ended& task, Time end) {
  const Seconds alone = task.run.end - task.run.begin;
  const Seconds since = task.position - position_, span = task.run.end - run_end_;
  const bool has_overtaken = is_known_ && (since <= 0 || span <= 0);
  if (has_overtaken) return alone;
  const bool has_waited = is_known_ && task.placed < end_;
  is_known_ = true;
  position_ = task.position;
  run_end_ = task.run.end;
  end_ = end;
  return has_waited ? std::min(alone, span * task.share * task.expected / since) : alone;
}

Time ServiceTime::end(const RunTimes& run, Time now) {
  const Seconds seen = now - run.end;
  if (has_offset_) offset_ += kDrift * std::max(0.0, now - offset_at_);
  offset_ = has_offset_ ? std::min(offset_, seen) : seen;
  has_offset_ = true;
  offset_at_ = now;
  return std::min(now, run.end + offset_);
}

}  // namespace remotecl::schedule
