#pragma once

#include <CL/cl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "runtime/client/support/wait_limit.h"

namespace remotecl {

// When and how an event ends: with its one report and the release of all its holds, or when its server is
// lost. The first failure decides the status. Any thread; there is no lock, because commands ask for the
// status all the time.
class EventEnd {
 public:
  using Profile = std::array<std::uint64_t, 4>;  // ns of the device's clock

  // `status`: CL_QUEUED or CL_SUBMITTED, until the event ends.
  explicit EventEnd(cl_int status) : status_(status) {}
  EventEnd(const EventEnd&) = delete;
  EventEnd& operator=(const EventEnd&) = delete;

  cl_int status() const { return status_.load(std::memory_order_acquire); }
  bool is_over() const { return status() <= CL_COMPLETE; }
  // The status at the end, as far as known.
  cl_int outcome() const { return outcome_.load(std::memory_order_acquire); }
  bool is_reported() const { return (missing_.load(std::memory_order_acquire) & kReport) == 0; }
  bool is_held() const { return missing_.load(std::memory_order_acquire) >= kHold; }
  // The report's times; null without a report or if it has none.
  const Profile* profile() const { return is_reported() && has_profile_ ? &profile_ : nullptr; }

  // Returns true for the first caller, who then calls report().
  bool claim_report() { return (missing_.fetch_and(~kClaim, std::memory_order_acq_rel) & kClaim) != 0; }
  // These return true if this call ends the event, which happens once.
  [[nodiscard]] bool report(cl_int status, const Profile* profile);
  [[nodiscard]] bool release_hold(cl_int status);
  [[nodiscard]] bool lose();  // ends it in spite of what is missing
  void add_hold() { missing_.fetch_add(kHold, std::memory_order_acq_rel); }

  // Waits until it is over. Returns false if the deadline has passed.
  bool wait(const OptionalDeadline& deadline);

 private:
  // The parts still missing for the end: the report, which a thread claims first, and holds.
  static constexpr std::uint32_t kClaim = 1, kReport = 2, kHold = 4;

  void note(cl_int status);
  bool end();

  std::atomic<cl_int> status_;  // a futex: what waits for the end sleeps while it has not changed
  std::atomic<cl_int> outcome_{CL_COMPLETE};
  std::atomic<std::uint32_t> missing_{kClaim | kReport};
  std::atomic<bool> may_sleep_{false};  // a thread has waited
  bool has_profile_ = false;            // written before the report, with profile_
  Profile profile_;
};

}  // namespace remotecl
