#include "server/session/session_activity.h"

#include <gtest/gtest.h>

namespace remotecl::server {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kStream = 7, kOther = 8;

class SessionActivityTest : public ::testing::Test {
 protected:
  static SessionActivity::Clock::time_point now() { return now_; }

  static inline SessionActivity::Clock::time_point now_{1h};
  SessionActivity activity_{2, &now};
};

TEST_F(SessionActivityTest, OfOthersAndNotOfOnesOwn) {
  activity_.add_session();
  activity_.add_session();
  activity_.note(kStream);
  EXPECT_FALSE(activity_.others(kStream));
  EXPECT_TRUE(activity_.others(kOther));
}

TEST_F(SessionActivityTest, IsForgotten) {
  activity_.add_session();
  activity_.add_session();
  activity_.note(kOther);
  now_ += 49ms;
  EXPECT_TRUE(activity_.others(kStream));
  now_ += 1ms;
  EXPECT_FALSE(activity_.others(kStream));
}

TEST_F(SessionActivityTest, WhoIsAloneIsNotAsked) {
  activity_.add_session();
  activity_.note(kOther);
  EXPECT_FALSE(activity_.others(kStream));
  activity_.add_session();
  EXPECT_FALSE(activity_.others(kStream)) << "nothing has been noted of it";
  activity_.note(kOther);
  EXPECT_TRUE(activity_.others(kStream));
  activity_.remove_session();
  EXPECT_FALSE(activity_.others(kStream));
}

TEST_F(SessionActivityTest, WhereThereAreCoresEnoughNobodyIsHeldBack) {
  SessionActivity many(16, &now);
  many.add_session();
  many.add_session();
  many.note(kOther);
  EXPECT_FALSE(many.others(kStream));
}

}  // namespace
}  // namespace remotecl::server
