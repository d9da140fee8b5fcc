// What the automatic device promises holds on each of its members: three daemons with different GPUs.
#include <CL/cl_ext.h>

#include <set>
#include <string>
#include <vector>

#include "extras/scheduling/icd/automatic_device_fixture.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kSmallestAllocation = 6 << 20, kSmallestGroup = 16;

class AutomaticJointTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 1024;

  const cl_device_id device_ = automatic_device("round-robin");
  const Owned<cl_context> context_ = make_context({device_});
  const Owned<cl_command_queue> queue_ = make_queue(context_, device_);
  const Owned<cl_program> program_ = build(context_, "fill_mv brighten_im k_mmmmmmmm");

  std::set<std::string> servers_of(cl_kernel kernel, int runs) {
    std::set<std::string> servers;
    for (int i = 0; i < runs; ++i) {
      Owned<cl_event> event;
      check(run(queue_, kernel, kCount, {}, event.out()));
      servers.insert(explain(event)["device"]["server"].get<std::string>());
    }
    return servers;
  }
};

TEST_F(AutomaticJointTest, ABufferFitsOnEachMember) {
  make_buffer(context_, kSmallestAllocation);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(clCreateBuffer(context_, CL_MEM_READ_WRITE, kSmallestAllocation + 1, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_BUFFER_SIZE);
}

TEST_F(AutomaticJointTest, ABufferThatAKernelGetsSeveralTimesIsCountedOnce) {
  const Owned<cl_kernel> kernel = make_kernel(program_, "k_mmmmmmmm");
  const Owned<cl_mem> buffers[] = {make_buffer(context_, kSmallestAllocation),
                                   make_buffer(context_, kSmallestAllocation)};
  for (cl_uint i = 0; i < 8; ++i) check(set_arg(kernel, i, buffers[i % 2]));
  EXPECT_EQ(servers_of(kernel, 3).size(), 3u);
}

TEST_F(AutomaticJointTest, SubGroupsAreThoseOfEachMember) {
  const Owned<cl_kernel> fill = make_kernel(program_, "fill_mv");
  const std::size_t group = 64;
  std::size_t size = 0;
  check(clGetKernelSubGroupInfo(fill, device_, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof group, &group,
                                sizeof size, &size, nullptr));
  EXPECT_EQ(size, kSmallestGroup / 2);
}

TEST_F(AutomaticJointTest, ASuggestedGroupRunsOnEachMember) {
  const auto suggest =
      reinterpret_cast<clGetKernelSuggestedLocalWorkSizeKHR_fn>(clGetExtensionFunctionAddressForPlatform(
          Environment::get().remote_platform(), "clGetKernelSuggestedLocalWorkSizeKHR"));
  const Owned<cl_mem> buffer = make_buffer(context_, kCount * sizeof(int));
  const Owned<cl_kernel> fill = make_kernel(program_, "fill_mv");
  check(set_arg(fill, 0, buffer));
  check(set_arg(fill, 1, 1));
  const std::size_t global = kCount;
  std::size_t local = 0;
  check(suggest(queue_, fill, 1, nullptr, &global, &local));
  EXPECT_EQ(local, kSmallestGroup);
}

TEST_F(AutomaticJointTest, AGroupThatIsTooLargeForAMemberIsRefused) {
  const Owned<cl_mem> buffer = make_buffer(context_, kCount * sizeof(int));
  const Owned<cl_kernel> fill = make_kernel(program_, "fill_mv");
  check(set_arg(fill, 0, buffer));
  check(set_arg(fill, 1, 1));
  const std::size_t global = kCount;
  for (int i = 0; i < 3; ++i) {
    std::size_t local = 2 * kSmallestGroup;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue_, fill, 1, nullptr, &global, &local, 0, nullptr, nullptr),
              CL_INVALID_WORK_GROUP_SIZE);
    local = kSmallestGroup;
    check(clEnqueueNDRangeKernel(queue_, fill, 1, nullptr, &global, &local, 0, nullptr, nullptr));
  }
}

// The last test, because the first member is gone afterwards.
TEST_F(AutomaticJointTest, ALostMemberIsNotAskedAboutImagesAndKernels) {
  Environment::get().daemon(0).kill();
  const cl_device_id lost = Environment::get().devices()[0];
  while (value<cl_bool>(clGetDeviceInfo, lost, CL_DEVICE_AVAILABLE) == CL_TRUE) {
    // Notices the loss; it may come between the calls.
    cl_int error = CL_SUCCESS;
    const Owned<cl_context> there(clCreateContext(nullptr, 1, &lost, nullptr, nullptr, &error));
    if (error != CL_SUCCESS) continue;
    const Owned<cl_command_queue> queue(clCreateCommandQueueWithProperties(there, lost, nullptr, &error));
    if (error == CL_SUCCESS) clFinish(queue);
  }
  cl_uint count = 0;
  check(clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count));
  EXPECT_NE(count, 0u);
  const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = description.image_height = 32;
  cl_int error = CL_SUCCESS;
  const Owned<cl_mem> image(clCreateImage(context_, CL_MEM_READ_ONLY, &format, &description, nullptr, &error));
  check(error);
  const Owned<cl_mem> buffer = make_buffer(context_, kCount * sizeof(int));
  const Owned<cl_kernel> brighten = make_kernel(program_, "brighten_im");
  check(set_arg(brighten, 0, image));
  check(set_arg(brighten, 1, buffer));
  EXPECT_EQ(servers_of(brighten, 4).size(), 2u);
  const std::size_t group = 64;
  std::size_t size = 0;
  EXPECT_EQ(clGetKernelSubGroupInfo(brighten, device_, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof group, &group,
                                    sizeof size, &size, nullptr),
            CL_SUCCESS);
}

std::vector<std::string> with_driver(const std::string& words) {
  return {"OCL_ICD_VENDORS=" REMOTECL_FAKE_DRIVER, "OCL_ICD_PLATFORM_SORT=none", "REMOTECL_FAKE_DRIVER=" + words};
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  using remotecl::testing::Environment;
  using remotecl::testing::with_driver;
  ::setenv("REMOTECL_LOG", "off", 1);  // a server is lost on purpose
  ::setenv("REMOTECL_RECONNECT", "0", 0);
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(Environment::with_environments(
      {with_driver("gpu=1"), with_driver("gpu=1,memory-mb=32,kernel-group=16"), with_driver("gpu=1")}));
  return RUN_ALL_TESTS();
}
