#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// Limits how many lines a second somebody else can make this process log. Any thread.
class LineLimit {
 public:
  explicit LineLimit(unsigned lines_max) : lines_max_(lines_max) {}

  // Nothing if the line is only counted, not written; else how many were left out before it, to be said first.
  std::optional<std::uint64_t> pass() EXCLUDES(mutex_) {
    const auto now = std::chrono::steady_clock::now();
    MutexLock lock(mutex_);
    const bool is_new_second = now - second_ >= std::chrono::seconds(1);
    if (is_new_second) {
      second_ = now;
      lines_ = 0;
    }
    if (lines_ == lines_max_) {
      ++omitted_;
      return std::nullopt;
    }
    ++lines_;
    return std::exchange(omitted_, 0);
  }
  // How many were left out since a line was passed.
  std::uint64_t omitted() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return omitted_;
  }

 private:
  const unsigned lines_max_;  // in each second
  mutable Mutex mutex_;
  std::chrono::steady_clock::time_point second_ GUARDED_BY(mutex_){};
  unsigned lines_ GUARDED_BY(mutex_) = 0;  // in this second
  std::uint64_t omitted_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl::server
