#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace remotecl {

// Limits a sender's rate so that the queue at a thin link's bottleneck stays short while the link stays busy. All other
// traffic of the link passes that queue. Pure: gets the time and the system's measurements.
//
// The rate is limited only once the queue has been seen. It falls below what the link delivers until the queue is
// gone, and then rises slowly until there is one again. A queue that does not go belongs to others: then the limit is
// lifted for a while, because a sender that yields to them gets nothing.
class LinkPacer {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::microseconds;

  struct Sample {
    Clock::time_point now;
    Duration round_trip, least_round_trip;
    double delivered;  // bytes per second; 0: not known, or less than could have been
  };
  // Bytes per second, or nothing: no limit.
  std::optional<double> update(const Sample& sample);
  std::optional<double> limit() const { return limit_; }

  // Faster links empty their queues soon enough, and are never limited.
  static constexpr double kFastLink = 62.5e6;
  // On slower ones a packet takes so long that there is always a queue.
  static constexpr double kSlowLink = 0.25e6;
  // The time that bytes spend in the queue: what is too long, and what is short.
  static constexpr Duration kLong{10'000}, kShort{4000};
  // The part of what the link delivers that is sent while the queue is too long, and after that.
  static constexpr double kDraining = 0.6, kDrained = 0.97;
  // With a limit the link delivers about as much. A measurement below this part of the limit counts as this part,
  // because single measurements are far off.
  static constexpr double kLimitOff = 0.85;
  // With a limit, own bytes exceed the link by little. So a queue that becomes too long within kSudden is a burst of
  // others, unless the last queue was drained less than kAgain ago: then the link has become thinner.
  static constexpr Duration kSudden{60'000}, kAgain{150'000};
  // For how long such a burst may keep what is delivered low.
  static constexpr Duration kBurstTime{100'000};
  // The factor by which the limit rises each time. It grows while no queue is found for a while.
  static constexpr double kRise = 1.004, kRiseMax = 1.25;
  static constexpr Duration kRiseEvery{20'000};
  static constexpr int kRisesUntilFaster = 50;
  // The bytes that leave at once; their own time on the link is no queue.
  static constexpr double kBurst = 6000;
  // A queue of which at least this part is left at the end of its time belongs to others.
  static constexpr double kStays = 0.7;
  // How much longer than expected a queue is drained, and how long others' queues are left alone.
  static constexpr Duration kPatience{500'000}, kLeftAlone{5'000'000};

 private:
  double estimate() const;
  Duration burst() const;
  bool is_burst_of_others(const Sample& sample) const;
  void give_time(const Sample& sample, Duration queue);
  void drain(const Sample& sample, Duration queue);
  void rise(const Sample& sample);

  std::optional<double> limit_;
  bool is_draining_ = false;
  double link_ = 0;  // what it has delivered with a queue
  std::array<double, 5> delivered_{};
  std::size_t samples_ = 0;
  Duration drained_from_{};
  Clock::time_point drained_by_{}, drained_at_{}, short_at_{}, burst_over_{}, left_alone_until_{}, risen_{};
  double rise_ = kRise;
  int rises_ = 0;
};

}  // namespace remotecl
