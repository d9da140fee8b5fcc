#include "server/execution/start_gate.h"

#include "fixture.h"
#include "server/completion/event_status.h"

namespace remotecl::testing {
namespace {

using server::StartGate;

class StartGateTest : public ServerTest {
 protected:
  static constexpr unsigned kFewCores = 2;
  static constexpr std::size_t kCommands = 100;

  void SetUp() override {
    if (!device_.is_processor()) GTEST_SKIP() << "the device is no processor";
  }
  static bool is_open(const StartGate& gate) { return server::execution_status(gate.waits().back()) == CL_COMPLETE; }

  server::Device& device_ = *server_.driver().device(0);
};

TEST_F(StartGateTest, HoldsBackUntilItIsOpened) {
  StartGate gate(device_, kCommands, {}, kFewCores);
  ASSERT_EQ(gate.waits().size(), 1u);
  for (std::size_t i = 0; i < kCommands; ++i) gate.add_command();
  EXPECT_FALSE(is_open(gate));
  gate.open();
  EXPECT_TRUE(is_open(gate));
  EXPECT_EQ(gate.commands(), kCommands);
}

TEST_F(StartGateTest, OpensWhenThereIsEnoughToDo) {
  StartGate gate(device_, 2 * StartGate::kCommandsMax, {}, kFewCores);
  for (std::size_t i = 1; i < StartGate::kCommandsMax; ++i) gate.add_command();
  EXPECT_FALSE(is_open(gate));
  gate.add_command();
  EXPECT_TRUE(is_open(gate));
}

TEST_F(StartGateTest, WhatWasToBeWaitedForIsStill) {
  cl_event given = nullptr;
  ASSERT_EQ(device_.ended_event(&given), CL_SUCCESS);
  {
    const StartGate gate(device_, kCommands, {&given, 1}, kFewCores);
    ASSERT_EQ(gate.waits().size(), 2u);
    EXPECT_EQ(gate.waits().front(), given);
    EXPECT_FALSE(is_open(gate));
  }
  clReleaseEvent(given);
}

TEST_F(StartGateTest, HoldsNothingBackWhereThatIsOfNoUse) {
  EXPECT_TRUE(StartGate(device_, 1, {}, kFewCores).waits().empty());
  EXPECT_TRUE(StartGate(device_, kCommands, {}, 16).waits().empty());
}

}  // namespace
}  // namespace remotecl::testing
