// A device without enough memory: the command that needed it fails, and nothing is lost. PoCL takes its size from
// POCL_MEMORY_LIMIT; elsewhere the device has to be filled, however large it is.
#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

class OutOfMemoryTest : public RemoteTest {
 protected:
  cl_ulong largest() { return value<cl_ulong>(clGetDeviceInfo, device(0), CL_DEVICE_MAX_MEM_ALLOC_SIZE); }
  cl_ulong total() { return value<cl_ulong>(clGetDeviceInfo, device(0), CL_DEVICE_GLOBAL_MEM_SIZE); }

  // Buffers of which each has a byte on the device, until the device has no room for one more.
  std::vector<Owned<cl_mem>> fill_device(cl_int& error) {
    std::vector<Owned<cl_mem>> buffers;
    const std::size_t most = total() / largest() + 2;
    for (error = CL_SUCCESS; error == CL_SUCCESS && buffers.size() <= most;) {
      buffers.push_back(make_buffer(context_, largest()));
      const int one = 1;
      error = clEnqueueFillBuffer(queue_, buffers.back(), &one, 4, 0, 4, 0, nullptr, nullptr);
      if (error == CL_SUCCESS) error = clFinish(queue_);
    }
    return buffers;
  }
};

TEST_F(OutOfMemoryTest, CommandSaysSoAndTheRestGoesOn) {
  cl_int error = CL_SUCCESS;
  std::vector<Owned<cl_mem>> buffers = fill_device(error);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  // Those before are as they were.
  ASSERT_GE(buffers.size(), 2u);
  EXPECT_EQ(read<int>(queue_, buffers[0], 1)[0], 1);
  EXPECT_EQ(read<int>(queue_, buffers[buffers.size() - 2], 1)[0], 1);
  // The one that found no room can be had once there is some, on either device.
  const Owned<cl_mem> refused = std::move(buffers.back());
  buffers.erase(buffers.begin());  // both servers may share one device
  check(clFinish(queue_));
  const int two = 2;
  EXPECT_EQ(clEnqueueFillBuffer(other_, refused, &two, 4, 0, 4, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(read<int>(other_, refused, 1)[0], 2);
  buffers.clear();
  EXPECT_EQ(read<int>(queue_, refused, 1)[0], 2);
}

TEST_F(OutOfMemoryTest, BytesThatFindNoRoomStayWhereTheyAre) {
  const std::vector<int> content = numbers(1 << 16);
  const Owned<cl_mem> precious = make_buffer(context_, largest());
  check(clEnqueueWriteBuffer(other_, precious, CL_TRUE, 0, content.size() * 4, content.data(), 0, nullptr, nullptr));
  cl_int error = CL_SUCCESS;
  std::vector<Owned<cl_mem>> buffers = fill_device(error);
  ASSERT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  // A kernel that changes them has to bring them first.
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, precious));
  check(set_arg(add, 1, 1));
  Owned<cl_event> failed;
  check(run(queue_, add, content.size(), {}, failed.out()));
  EXPECT_EQ(clWaitForEvents(1, failed.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_LT(status(failed), 0);
  EXPECT_TRUE(read<int>(other_, precious, content.size()) == content);
  // It works when there is room.
  buffers.clear();
  check(run(queue_, add, content.size()));
  EXPECT_EQ(clFinish(queue_), CL_SUCCESS);
  EXPECT_TRUE(read<int>(other_, precious, content.size()) == numbers(1 << 16, 1));
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(2, {"POCL_MEMORY_LIMIT=1"}));
  return RUN_ALL_TESTS();
}
