#include "runtime/client/objects/event_end.h"

#include "runtime/base/futex.h"

namespace remotecl {

void EventEnd::note(cl_int status) {
  cl_int known = CL_COMPLETE;
  if (status < CL_COMPLETE) outcome_.compare_exchange_strong(known, status, std::memory_order_acq_rel);
}

bool EventEnd::report(cl_int status, const Profile* profile) {
  note(status);
  if (profile != nullptr) {
    profile_ = *profile;
    has_profile_ = true;
  }
  return missing_.fetch_sub(kReport, std::memory_order_acq_rel) == kReport && end();
}

bool EventEnd::release_hold(cl_int status) {
  note(status);
  return missing_.fetch_sub(kHold, std::memory_order_acq_rel) == kHold && end();
}

bool EventEnd::lose() {
  if (is_over()) return false;
  note(CL_DEVICE_NOT_AVAILABLE);
  return end();
}

bool EventEnd::end() {
  cl_int before = status_.load(std::memory_order_relaxed);
  do {
    if (before <= CL_COMPLETE) return false;
  } while (!status_.compare_exchange_weak(before, outcome(), std::memory_order_seq_cst));
  if (may_sleep_.load(std::memory_order_seq_cst)) futex_wake(status_);
  return true;
}

bool EventEnd::wait(const OptionalDeadline& deadline) {
  for (cl_int before = status(); before > CL_COMPLETE; before = status()) {
    const auto now = std::chrono::steady_clock::now();
    if (deadline && now >= *deadline) return false;
    may_sleep_.store(true, std::memory_order_seq_cst);
    // If the event ends before this thread sleeps, the word has changed, so this does not sleep.
    futex_wait(status_, before, deadline ? *deadline - now : std::chrono::hours(1));
  }
  return true;
}

}  // namespace remotecl
