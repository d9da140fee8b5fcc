#pragma once

#include <chrono>

namespace remotecl::server {

// Whether a proxy thread has more to do than it can manage, or hardly anything. A value; has no clock of its own.
class ThreadLoad {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  enum class Verdict { kNone, kBusy, kCalm };

  // A thread that was busy for a window gets help, unless it lacked a core: another thread would then only take time
  // from others. Windows are short, because a fast network moves hundreds of megabytes while threads are still few.
  static constexpr Duration kWindow = std::chrono::milliseconds(1);
  static constexpr Duration kCalmTime = std::chrono::seconds(1);

  // Begins anew after the lanes have changed. `used`: processor time of the thread.
  void restart(Time now, Duration used);
  // A round that has moved something took this time.
  void worked(Duration time) { busy_ += time; }
  bool is_due(Time now) const { return now - begin_ >= kWindow; }
  // The verdict of the window that ends now. REQUIRES: is_due(now).
  Verdict judge(Time now, Duration used);

 private:
  Time begin_, calm_since_;
  Duration used_{}, busy_{};
};

}  // namespace remotecl::server
