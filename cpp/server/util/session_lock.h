#pragma once

#include "runtime/base/thread_annotations.h"

namespace remotecl::server {

// The one name under which clang knows the lock of any session, whose parts reach it in many ways. No thread holds the
// locks of two sessions, and no part of a session uses another's. Session::mutex() and Strand take it. Code that gets
// called with it, such as a job for a Strand, says REQUIRES(session_lock); clang does not check the calls that a
// std::function makes.
class REMOTECL_TSA(capability("mutex")) SessionLock {
 public:
  // For a function that code without annotations calls at once, such as the body of a for_each(). Checks nothing.
  void assume_held() const ASSERT_CAPABILITY(this) {}
};

inline constexpr SessionLock session_lock;

}  // namespace remotecl::server
