#include "extras/kernel_sockets/space/thread_load.h"

namespace remotecl::server {

void ThreadLoad::restart(Time now, Duration used) {
  *this = {};
  begin_ = calm_since_ = now;
  used_ = used;
}

ThreadLoad::Verdict ThreadLoad::judge(Time now, Duration used) {
  const Duration wall = now - begin_;
  const bool is_busy = busy_ * 10 >= wall * 9 && (used - used_) * 10 >= wall * 9;
  // A calm thread works less than a tenth of the time, so one thread can take the lanes of several without being busy.
  if (busy_ * 10 >= wall) calm_since_ = now;
  begin_ = now;
  used_ = used;
  busy_ = {};
  if (is_busy) return Verdict::kBusy;
  return now - calm_since_ >= kCalmTime ? Verdict::kCalm : Verdict::kNone;
}

}  // namespace remotecl::server
