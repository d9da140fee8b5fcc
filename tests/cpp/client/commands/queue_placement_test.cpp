// The door for placing work on several devices, with a double behind it, over a daemon with two devices.
#include "runtime/client/objects/queue_placement.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "fakes/placement_in_turn.h"
#include "runtime/client/objects/platform.h"
#include "support/daemon.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kSize = 4096;

// The application's reference: without it the members keep the queue for ever.
struct ReleaseHandle {
  void operator()(CommandQueue* queue) const { queue->release_handle(); }
};
using Queue = std::unique_ptr<CommandQueue, ReleaseHandle>;

class QueuePlacementTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static Daemon daemon({"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "REMOTECL_FAKE_DRIVER=gpu=2"});
    Platform::instance().connect(daemon.address());
    // Nothing is behind the door yet.
    EXPECT_EQ(Platform::instance().list_automatic_device(), nullptr);
    EXPECT_EQ(Platform::instance().listed_devices().size(), 2u);
    AutomaticDevices::install(*new DevicesInTurn);
  }

  Queue make_queue(cl_command_queue_properties properties = 0) {
    auto queue = make_ref<CommandQueue>(*context_, *device_, properties, std::vector<cl_queue_properties>());
    return Queue(queue.detach());
  }
  Ref<MemoryObject> make_buffer() {
    return make_ref<MemoryObject>(context_, CL_MEM_READ_WRITE, kSize, nullptr, std::vector<cl_mem_properties>());
  }
  static PlacementInTurn& placement(CommandQueue& queue) { return static_cast<PlacementInTurn&>(*queue.placement()); }
  static cl_int fill(CommandQueue& queue, MemoryObject& buffer, int value) {
    return enqueue_fill(queue, buffer, Bytes(reinterpret_cast<const std::byte*>(&value), sizeof value), 0, kSize, {},
                        nullptr, CL_COMMAND_FILL_BUFFER);
  }

  Device* const device_ = Platform::instance().list_automatic_device();
  const Ref<Context> context_ =
      make_ref<Context>(std::vector<Device*>{device_}, std::vector<cl_context_properties>(), nullptr, nullptr);
};

TEST_F(QueuePlacementTest, EachCommandGoesToTheMemberThatThePlacementChooses) {
  const Queue queue = make_queue();
  const Ref<MemoryObject> from = make_buffer(), to = make_buffer();
  PlacementInTurn& placement = this->placement(*queue);
  ASSERT_EQ(fill(*queue, *from, 7), CL_SUCCESS);
  ASSERT_EQ(queue->finish(), CL_SUCCESS);
  EXPECT_EQ(placement.member(0).last_sequence(), 1u);
  ASSERT_EQ(enqueue_copy(*queue, *from, *to, 0, 0, kSize, {}, nullptr), CL_SUCCESS);
  ASSERT_EQ(queue->finish(), CL_SUCCESS);
  EXPECT_EQ(placement.member(0).last_sequence(), 1u);
  EXPECT_GE(placement.member(1).last_sequence(), 1u);
  // The bytes have followed, and come here from where they are now.
  std::vector<int> read(kSize / sizeof(int));
  Event* event = nullptr;
  ASSERT_EQ(enqueue_read(*queue, *to, true, 0, kSize, read.data(), {}, &event), CL_SUCCESS);
  const Ref<Event> held = Ref<Event>::adopt(event);
  EXPECT_EQ(held->queue(), &placement.member(0));
  EXPECT_EQ(read, std::vector<int>(kSize / sizeof(int), 7));
}

TEST_F(QueuePlacementTest, ThePlacementLearnsWhatACommandUses) {
  const Queue queue = make_queue();
  const Ref<MemoryObject> from = make_buffer(), to = make_buffer();
  ASSERT_EQ(enqueue_copy(*queue, *from, *to, 0, 1024, 512, {}, nullptr), CL_SUCCESS);
  const std::vector<PlacementInTurn::Use>& uses = placement(*queue).uses();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].memory, from.get());
  EXPECT_FALSE(uses[0].is_written);
  EXPECT_EQ(uses[0].range.size, 512u);
  EXPECT_EQ(uses[1].memory, to.get());
  EXPECT_TRUE(uses[1].is_written);
  EXPECT_EQ(uses[1].range.offset, 1024u);
  EXPECT_EQ(queue->finish(), CL_SUCCESS);
}

TEST_F(QueuePlacementTest, PointsOfAnOutOfOrderQueueAreThePlacements) {
  const Queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  Event* event = nullptr;
  ASSERT_EQ(enqueue_marker(*queue, true, CL_COMMAND_BARRIER, {}, &event), CL_SUCCESS);
  const Ref<Event> held = Ref<Event>::adopt(event);
  EXPECT_EQ(placement(*queue).member(0).last_sequence(), 1u);
  EXPECT_TRUE(placement(*queue).uses().empty());
  EXPECT_EQ(queue->finish(), CL_SUCCESS);
}

TEST_F(QueuePlacementTest, AReleasedQueueLetsItsPlacementGo) {
  Queue queue = make_queue();
  const std::shared_ptr<const bool> released = placement(*queue).released();
  EXPECT_FALSE(*released);
  queue.reset();
  EXPECT_TRUE(*released);
}

}  // namespace
}  // namespace remotecl::testing
