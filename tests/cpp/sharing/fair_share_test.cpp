#include "runtime/sharing/fair_share.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace remotecl {
namespace {

using namespace std::chrono_literals;

const FairShare::Time kBegin{1000s};

// A device that carries out one unit after the other in the order in which it got them, and clients of it that go
// whenever they may: what a daemon does with FairShare, without one.
class Model {
 public:
  struct Client {
    double cost = 1;
    bool has_work = true;
    bool asked = false;  // and was not let go
    double done = 0;
  };

  explicit Model(FairShare::Duration unit = 5us) : unit_(unit) {}

  FairShare::Member add(double weight, double cost = 1) {
    const auto member = share_.join(weight);
    clients_[member].cost = cost;
    return member;
  }
  // Everybody gives as much as it may; then the device ends one command.
  void step() {
    while (let_one_go()) {
    }
    ASSERT_FALSE(driver_.empty()) << "somebody has work, and nobody may go";
    const FairShare::Member member = driver_.front();
    driver_.pop_front();
    now_ += std::chrono::duration_cast<FairShare::Duration>(unit_ * clients_[member].cost);
    share_.ended(member, clients_[member].cost, now_);
    clients_[member].done += clients_[member].cost;
    while (const auto next = share_.take_next()) go(*next);
  }

  FairShare share_;
  std::map<FairShare::Member, Client> clients_;
  std::deque<FairShare::Member> driver_;
  FairShare::Time now_ = kBegin;

 private:
  void go(FairShare::Member member) {
    clients_[member].asked = false;
    if (!clients_[member].has_work) return;
    share_.began(member, clients_[member].cost, now_);
    driver_.push_back(member);
  }
  bool let_one_go() {
    for (auto& [member, client] : clients_) {
      if (!client.has_work || client.asked) continue;
      if (share_.ask(member)) {
        go(member);
        if (driver_.size() > 2000) return false;  // one that is alone has no bound
        return true;
      }
      client.asked = true;
    }
    return false;
  }

  const FairShare::Duration unit_;
};

TEST(FairShareTest, WhoIsAloneIsNeverHeldUp) {
  FairShare share;
  const auto only = share.join(1);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(share.ask(only));
    share.began(only, 1, kBegin);
  }
}

TEST(FairShareTest, ALimitOfItsOwnHoldsForOneThatIsAloneToo) {
  FairShare share;
  const auto only = share.join(1, 3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(share.ask(only));
    share.began(only, 1, kBegin);
  }
  EXPECT_FALSE(share.ask(only));
  EXPECT_FALSE(share.take_next());
  share.ended(only, 1, kBegin);
  EXPECT_EQ(share.take_next(), only);
  EXPECT_FALSE(share.take_next()) << "once";
}

TEST(FairShareTest, AGuestGoesAtOnce) {
  FairShare share;
  const auto flood = share.join(1), guest = share.join(1);
  int given = 0;
  for (; share.ask(flood); ++given) share.began(flood, 1, kBegin);
  EXPECT_LE(given, FairShare::kUnitsMax);
  EXPECT_GE(given, FairShare::kUnitsMin);
  EXPECT_TRUE(share.ask(guest));
}

TEST(FairShareTest, WhoHasLeftNeitherWaitsNorCounts) {
  FairShare share;
  const auto gone = share.join(1), stays = share.join(1);
  while (share.ask(gone)) share.began(gone, 1, kBegin);
  share.leave(gone);
  EXPECT_FALSE(share.take_next());
  EXPECT_EQ(share.members(), 1u);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(share.ask(stays)) << "it is alone";
    share.began(stays, 1, kBegin);
  }
  const double left = share.on_device(gone);
  EXPECT_GT(left, 0) << "until that has ended";
  share.ended(gone, left, kBegin + 1ms);
  share.ended(gone, 5, kBegin + 1ms);
  EXPECT_EQ(share.on_device(), 1000);
}

TEST(FairShareTest, TheWindowFollowsTheLengthOfTheWork) {
  for (const auto unit : {FairShare::Duration(1us), FairShare::Duration(20us), FairShare::Duration(10ms)}) {
    Model model(unit);
    model.add(1);
    model.add(1);
    for (int i = 0; i < 2000; ++i) model.step();
    const double expected = std::chrono::duration<double>(FairShare::kWindow) / std::chrono::duration<double>(unit);
    EXPECT_NEAR(model.share_.window(), std::clamp(expected, FairShare::kUnitsMin, FairShare::kUnitsMax),
                0.02 * expected + 0.1);
  }
}

// Whatever their commands cost, those that always have work get what their weights say.
TEST(FairSharePropertyTest, WorkIsSharedByWeight) {
  std::mt19937 random(11);
  for (int run = 0; run < 60; ++run) {
    SCOPED_TRACE(run);
    Model model;
    std::map<FairShare::Member, double> weights;
    double all = 0;
    for (unsigned i = 0, count = 2 + random() % 6; i < count; ++i) {
      const double weight = 1 + random() % 4;
      weights.emplace(model.add(weight, 1 + random() % 8), weight);
      all += weight;
    }
    for (int i = 0; i < 3000; ++i) model.step();
    std::map<FairShare::Member, double> before;
    for (const auto& [member, client] : model.clients_) before[member] = client.done;
    for (int i = 0; i < 6000; ++i) model.step();
    double total = 0;
    for (const auto& [member, client] : model.clients_) total += client.done - before[member];
    for (const auto& [member, client] : model.clients_) {
      const double due = total * weights[member] / all;
      // What is on its way at both ends, and one command more; and nobody gets less than 95 % of what is due.
      EXPECT_NEAR(client.done - before[member], due, std::max(2 * (model.share_.window() + 16), 0.05 * due));
    }
  }
}

// A guest that comes now and then finds a short queue, and is not punished for the time that it was away, nor paid.
TEST(FairSharePropertyTest, AGuestWaitsForAWindowAtMost) {
  std::mt19937 random(13);
  for (int run = 0; run < 40; ++run) {
    SCOPED_TRACE(run);
    Model model;
    for (unsigned i = 0, count = 1 + random() % 5; i < count; ++i) model.add(1 + random() % 4, 1 + random() % 4);
    const auto guest = model.add(1);
    model.clients_[guest].has_work = false;
    for (int i = 0; i < 500; ++i) model.step();
    for (int visit = 0; visit < 50; ++visit) {
      for (unsigned i = 0, pause = random() % 200; i < pause; ++i) model.step();
      ASSERT_TRUE(model.share_.ask(guest));
      model.share_.began(guest, 1, model.now_);
      model.driver_.push_back(guest);
      const auto came = model.now_;
      const double done = model.clients_[guest].done;
      while (model.clients_[guest].done == done) model.step();
      // Those who had less than their share may have filled their part of it once more.
      EXPECT_LE(model.now_ - came, 2 * FairShare::kWindow + 5us * (4 * 5 + 1));
    }
  }
}

// Comes, goes, leaves, in any order: nothing is lost, and nobody waits while there is nothing on the device.
TEST(FairSharePropertyTest, NobodyIsForgotten) {
  std::mt19937 random(17);
  for (int run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    FairShare share;
    std::map<FairShare::Member, double> given;
    std::map<FairShare::Member, bool> waiting;
    auto now = kBegin;
    const auto let_go = [&] {
      while (const auto next = share.take_next()) {
        ASSERT_TRUE(waiting[*next]) << "it was not waiting";
        waiting[*next] = false;
      }
    };
    for (int i = 0; i < 2000; ++i) {
      now += 1us;
      const unsigned what = random() % 16;
      if (what == 0 || given.empty()) {
        given.emplace(share.join(1 + random() % 3), 0);
        continue;
      }
      auto at = given.begin();
      std::advance(at, random() % given.size());
      auto& [member, on_device] = *at;
      if (what == 1) {
        share.leave(member);
        share.ended(member, on_device, now);
        waiting.erase(member);
        given.erase(at);
      } else if (what < 9 && !waiting[member]) {
        if (share.ask(member)) {
          share.began(member, 1, now);
          on_device += 1;
        } else {
          waiting[member] = true;
        }
      } else if (on_device > 0) {
        share.ended(member, 1, now);
        on_device -= 1;
      }
      let_go();
      double sum = 0;
      for (const auto& [each, cost] : given) {
        sum += cost;
        ASSERT_FALSE(waiting[each] && share.on_device() == 0);
        ASSERT_EQ(share.on_device(each), cost);
      }
      ASSERT_EQ(share.on_device(), sum);
      ASSERT_EQ(share.members(), given.size());
    }
  }
}

}  // namespace
}  // namespace remotecl
