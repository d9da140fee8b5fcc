// Two devices of one server: each has memory of its own, and both share the connection that bytes come and go on.
#include "icd/svm_fixture.h"

namespace remotecl::testing {
namespace {

class TwoDevicesTest : public ::testing::Test {
 protected:
  static std::vector<cl_device_id> all_devices() {
    std::vector<cl_device_id> devices(2);
    check(clGetDeviceIDs(Environment::get().remote_platform(), CL_DEVICE_TYPE_ALL, 2, devices.data(), nullptr));
    return devices;
  }

  Owned<cl_context> context_ = make_context(all_devices());
  Owned<cl_command_queue> first_ = make_queue(context_, all_devices()[0]);
  Owned<cl_command_queue> second_ = make_queue(context_, all_devices()[1]);
  Owned<cl_program> program_ = build(context_, kSource);
  Owned<cl_kernel> add_ = make_kernel(program_, "add");
};

constexpr std::size_t kCounts[] = {16, 1u << 20};

TEST_F(TwoDevicesTest, BufferFollowsTheKernels) {
  for (const std::size_t count : kCounts) {
    const Owned<cl_mem> buffer = make_buffer(context_, std::vector<int>(count, 0));
    check(set_arg(add_, 0, buffer));
    for (int round = 1; round <= 20; ++round) {
      check(set_arg(add_, 1, 1));
      Owned<cl_event> first, second;
      check(run(first_, add_, count, {}, first.out()));
      check(set_arg(add_, 1, 100));
      check(run(second_, add_, count, {first}, second.out()));
      check(clWaitForEvents(1, second.pointer()));
      ASSERT_EQ(read<int>(round % 2 == 0 ? first_ : second_, buffer, count), std::vector<int>(count, 101 * round));
    }
  }
}

TEST_F(TwoDevicesTest, SharedMemoryFollowsTheKernels) {
  for (cl_device_id device : all_devices()) {
    if (value<cl_device_type>(clGetDeviceInfo, device, CL_DEVICE_TYPE) != CL_DEVICE_TYPE_CPU) {
      GTEST_SKIP() << "devices of one process share memory if they are CPUs";
    }
  }
  for (const std::size_t count : kCounts) {
    const Shared<int> data(context_, count);
    data.write(first_, std::vector<int>(count, 0));
    check(clSetKernelArgSVMPointer(add_, 0, data));
    for (int round = 1; round <= 20; ++round) {
      check(set_arg(add_, 1, 1));
      Owned<cl_event> first, second;
      check(run(first_, add_, count, {}, first.out()));
      check(set_arg(add_, 1, 100));
      check(run(second_, add_, count, {first}, second.out()));
      check(clWaitForEvents(1, second.pointer()));
      ASSERT_EQ(data.read(round % 2 == 0 ? first_ : second_), std::vector<int>(count, 101 * round));
    }
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(1, {"POCL_DEVICES=pthread basic"}));
  return RUN_ALL_TESTS();
}
