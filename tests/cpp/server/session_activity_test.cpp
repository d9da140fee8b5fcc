#include "server/session_activity.h"

#include <gtest/gtest.h>

namespace remotecl::server {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kStream = 7, kOther = 8;

TEST(SessionActivityTest, OfOthersAndNotOfOnesOwn) {
  SessionActivity activity(2);
  activity.add_session();
  activity.add_session();
  activity.note(kStream);
  EXPECT_FALSE(activity.others(kStream));
  EXPECT_TRUE(activity.others(kOther));
}

TEST(SessionActivityTest, IsForgotten) {
  SessionActivity activity(2);
  activity.add_session();
  activity.add_session();
  activity.note(kOther);
  EXPECT_TRUE(activity.others(kStream));
  std::this_thread::sleep_for(60ms);
  EXPECT_FALSE(activity.others(kStream));
}

TEST(SessionActivityTest, WhoIsAloneIsNotAsked) {
  SessionActivity activity(2);
  activity.add_session();
  activity.note(kOther);
  EXPECT_FALSE(activity.others(kStream));
  activity.add_session();
  EXPECT_FALSE(activity.others(kStream)) << "nothing has been noted of it";
  activity.note(kOther);
  EXPECT_TRUE(activity.others(kStream));
  activity.remove_session();
  EXPECT_FALSE(activity.others(kStream));
}

TEST(SessionActivityTest, WhereThereAreCoresEnoughNobodyIsHeldBack) {
  SessionActivity activity(16);
  activity.add_session();
  activity.add_session();
  activity.note(kOther);
  EXPECT_FALSE(activity.others(kStream));
}

}  // namespace
}  // namespace remotecl::server
