// A network is an argument of a kernel on a driver with late events.
#include "icd/late_events.h"

namespace remotecl::testing {
namespace {

// The fake driver's other devices have no memory for networks.
class LateNetworkEventsTest : public LateEventsTest {
 protected:
  LateNetworkEventsTest() : LateEventsTest(CL_DEVICE_TYPE_CPU) {}
};

TEST_F(LateNetworkEventsTest, AKernelWithANetworkDoesNotWaitForAnotherQueue) {
  remotecl_network_properties properties{};
  properties.struct_size = sizeof properties;
  properties.sockets = 4;
  properties.ring_bytes = 4096;
  cl_int error = CL_SUCCESS;
  const Owned<cl_mem> network(library_function<decltype(remotecl_create_network)>("remotecl_create_network")(
      context_, device_, &properties, &error));
  check(error);
  set_arguments(fill_, network, 37);
  Owned<cl_event> event;
  check(run(queue_, fill_, 1, {}, event.out()));
  check(clWaitForEvents(1, event.pointer()));
  seen();
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(remotecl::testing::Environment::with_options(
      1, {"--kernel-sockets"}, nullptr,
      {"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "OCL_ICD_PLATFORM_SORT=none",
       "REMOTECL_FAKE_DRIVER=platform=NVIDIA CUDA,gpu=2,cpu=1,late-events,slow-releases,"
       "any-sub-buffer,item-ns=1000000"}));
  return RUN_ALL_TESTS();
}
