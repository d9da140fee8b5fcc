// A call of the driver that takes long delays only those who need its result.
#include <future>

#include "server/driver/held_call.h"
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using server::Device;
using server::DeviceClock;

class HeldCallTest : public ::testing::Test {
 protected:
  template <class Function>
  std::future<void> meanwhile(Function function) {
    return std::async(std::launch::async, function);
  }

  server::NativeDriver driver_{"0"};
  Device& device_ = *driver_.device(0);
};

TEST_F(HeldCallTest, ASmallReadDoesNotWaitForAnotherThatAllocatesPinnedMemory) {
  device_.memory().stage_always();
  HeldCall call("clEnqueueMapBuffer");
  const auto first = meanwhile([this] { device_.memory().pinned().take(8); });
  call.await();
  EXPECT_NE(device_.memory().pinned().take(8), nullptr);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

TEST_F(HeldCallTest, AClockIsReadWhileAnotherReadWaitsForTheDevice) {
  DeviceClock clock(device_, false);
  HeldCall call("clWaitForEvents");
  const auto first = meanwhile([&clock] {
    cl_ulong time_ns = 0;
    EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  });
  call.await();
  cl_ulong time_ns = 0;
  EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  EXPECT_NE(time_ns, 0u);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

TEST_F(HeldCallTest, AClockIsReadWhileAnotherThreadMakesWhatThatNeeds) {
  cl_int error = CL_SUCCESS;
  ASSERT_NE(device_.context(error), nullptr);
  DeviceClock clock(device_, false);
  HeldCall call("clCreateBuffer");
  const auto first = meanwhile([&clock] {
    cl_ulong time_ns = 0;
    EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  });
  call.await();
  cl_ulong time_ns = 0;
  EXPECT_EQ(clock.read(time_ns), CL_SUCCESS);
  EXPECT_TRUE(call.is_inside());
  call.release();
}

}  // namespace
}  // namespace remotecl::testing
