// What counts as a session's memory.
#include "server/quota/held_memory.h"

#include <gtest/gtest.h>

namespace remotecl::testing {
namespace {

using namespace server;

constexpr std::uint64_t kLimit = 800;

class LockedMemoryTest : public ::testing::Test {
 protected:
  static Ref<MemoryQuota> quota(std::uint64_t host, Ref<MemoryQuota> whole) {
    auto used = make_ref<Counters>(MemoryQuota::counters(0));
    return make_ref<MemoryQuota>(0, std::move(used), MemoryLimits{.host = host}, std::move(whole));
  }
  std::uint64_t used() const { return of_user_->used(of_user_->host()); }

  Ref<MemoryQuota> of_user_ = quota(kLimit, nullptr);
  Ref<SessionCounters> session_ = make_ref<SessionCounters>(quota(2 * kLimit, of_user_));
};

TEST_F(LockedMemoryTest, CountsAsLongAsItIsLocked) {
  auto held = hold_locked(session_)(300);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(used(), 300u);
  held.reset();
  EXPECT_EQ(used(), 0u);
}

// So that commands of the session still work where there is no room for RDMA.
TEST_F(LockedMemoryTest, LeavesAnEighthOfTheLimitToTheRest) {
  const auto hold = hold_locked(session_);
  const auto held = hold(500);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(hold(201), nullptr);
  EXPECT_NE(hold(200), nullptr);
  EXPECT_EQ(used(), 500u);
  EXPECT_NO_THROW(HeldMemory(session_, 300));
}

}  // namespace
}  // namespace remotecl::testing
