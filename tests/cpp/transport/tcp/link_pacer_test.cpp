// A sender that is always ready, and a bottleneck with a queue, in simulated time.
#include "runtime/transport/tcp/link_pacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace remotecl {
namespace {

using namespace std::chrono_literals;
using Duration = LinkPacer::Duration;

class Link {
 public:
  Link(double rate, Duration round_trip) : rate_(rate), round_trip_(round_trip) {}

  // Lets the sender send for so long; `unlimited`: what it would send, as a multiple of the rate.
  void run(Duration time, double unlimited = 2, double others = 0) {
    for (const auto end = now_ + time; now_ < end; now_ += kStep) {
      const double seconds = std::chrono::duration<double>(kStep).count();
      // A window bounds what is in the queue, as it does where nothing else does.
      const double window = queue_ < kQueueMax ? unlimited * rate_ : rate_;
      const double mine = std::min(pacer_.limit().value_or(window), window);
      const double left = rate_ - others;
      const double before = queue_;
      queue_ = std::max(0.0, queue_ + (mine - left) * seconds);
      const double carried = queue_ > 0 || before > 0 ? left : mine;
      moved_ += carried * seconds;
      const double foreign = before > 0 ? std::min(foreign_, carried * seconds * foreign_ / before) : 0;
      foreign_ -= foreign;
      delivered_ = carried - foreign / seconds;
      const Duration waits =
          standing_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(queue_ / rate_));
      longest_ = std::max(longest_, waits);
      pacer_.update({now_, round_trip_ + waits, round_trip_, delivered_});
    }
  }
  // Others send so many bytes at once.
  void burst(double bytes) {
    queue_ += bytes;
    foreign_ += bytes;
  }
  void set_rate(double rate) { rate_ = rate; }
  void set_standing(Duration queue) { standing_ = queue; }
  double moved() { return std::exchange(moved_, 0); }
  Duration longest() { return std::exchange(longest_, 0us); }
  const LinkPacer& pacer() const { return pacer_; }

 private:
  static constexpr Duration kStep{5'000};
  static constexpr double kQueueMax = 1e6;

  double rate_;
  const Duration round_trip_;
  LinkPacer pacer_;
  LinkPacer::Clock::time_point now_ = LinkPacer::Clock::time_point(1000s);
  double queue_ = 0, delivered_ = 0, moved_ = 0;
  double foreign_ = 0;  // of queue_
  Duration longest_{0}, standing_{0};
};

TEST(LinkPacer, KeepsTheQueueOfAThinLinkShortAndTheLinkBusy) {
  for (const double rate : {0.625e6, 2.5e6, 12.5e6}) {
    for (const Duration round_trip : {Duration(200), Duration(30'000)}) {
      Link link(rate, round_trip);
      link.run(1s);
      link.moved();
      link.longest();
      link.run(60s);
      EXPECT_LT(link.longest(), rate < 1e6 ? 30ms : 20ms) << rate;
      EXPECT_GT(link.moved(), 0.95 * 60 * rate) << rate;
    }
  }
}

TEST(LinkPacer, LeavesFastLinksAlone) {
  Link link(1.25e9, 100us);
  link.set_standing(20ms);
  link.run(5s);
  EXPECT_FALSE(link.pacer().limit());
}

TEST(LinkPacer, LimitsNothingWithoutAQueue) {
  Link link(2.5e6, 10ms);
  link.run(10s, 0.5);
  EXPECT_FALSE(link.pacer().limit());
}

TEST(LinkPacer, UsesALinkThatBecomesFaster) {
  Link link(2.5e6, 10ms);
  link.run(10s);
  link.set_rate(25e6);
  link.run(20s);
  link.moved();
  link.run(10s);
  EXPECT_GT(link.moved(), 0.95 * 10 * 25e6);
}

TEST(LinkPacer, DoesNotYieldForEverToAQueueOfOthers) {
  Link link(2.5e6, 10ms);
  link.set_standing(100ms);
  link.run(60s, 1);
  EXPECT_GT(link.moved(), 0.8 * 60 * 2.5e6);
}

// Such as the small writes of the same session, which travel on another connection.
TEST(LinkPacer, UsesALinkOnWhichOthersSendBursts) {
  Link link(2.5e6, 200us);
  link.run(10s);
  link.moved();
  for (int i = 0; i < 100; ++i) {
    link.burst(64 << 10);
    link.run(350ms);
  }
  EXPECT_GT(link.moved(), 0.93 * 35 * 2.5e6);
}

TEST(LinkPacer, FollowsALinkThatBecomesThinner) {
  for (const double part : {0.9, 0.8, 0.5}) {
    Link link(2.5e6, 10ms);
    link.run(10s);
    link.set_rate(part * 2.5e6);
    link.run(10s);
    link.moved();
    link.longest();
    link.run(20s);
    EXPECT_LT(link.longest(), 25ms) << part;
    EXPECT_GT(link.moved(), 0.93 * 20 * part * 2.5e6) << part;
  }
}

}  // namespace
}  // namespace remotecl
