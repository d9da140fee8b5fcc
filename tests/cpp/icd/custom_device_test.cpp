// Devices that cannot run OpenCL C: they have kernels built in, no compiler and no work-groups.
#include <algorithm>

#include "icd/fake_driver.h"

namespace remotecl::testing {
namespace {

class CustomDeviceTest : public FakeDriverTest {
 protected:
  const std::vector<cl_device_id> customs_ = devices(CL_DEVICE_TYPE_CUSTOM);
  const cl_device_id custom_ = customs_.at(0);
};

bool contains(const std::vector<cl_device_id>& devices, cl_device_id device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

TEST_F(CustomDeviceTest, IsListedOnlyWhereItsTypeIsNamed) {
  EXPECT_EQ(customs_.size(), 2u);
  EXPECT_EQ(value<cl_device_type>(clGetDeviceInfo, custom_, CL_DEVICE_TYPE), cl_device_type{CL_DEVICE_TYPE_CUSTOM});
  const auto all = devices(CL_DEVICE_TYPE_ALL);
  EXPECT_EQ(all.size(), 4u);
  EXPECT_FALSE(contains(all, custom_));
  EXPECT_FALSE(contains(devices(CL_DEVICE_TYPE_DEFAULT), custom_));
  EXPECT_EQ(devices(CL_DEVICE_TYPE_CUSTOM | CL_DEVICE_TYPE_GPU).size(), 4u);
}

TEST_F(CustomDeviceTest, SaysWhatItsDriverSays) {
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, custom_, CL_DEVICE_COMPILER_AVAILABLE), cl_bool{CL_FALSE});
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, custom_, CL_DEVICE_LINKER_AVAILABLE), cl_bool{CL_FALSE});
  EXPECT_EQ(text(clGetDeviceInfo, custom_, CL_DEVICE_OPENCL_C_VERSION), "");
  EXPECT_EQ(list<cl_name_version>(clGetDeviceInfo, custom_, CL_DEVICE_OPENCL_C_ALL_VERSIONS).size(), 0u);
  EXPECT_EQ(value<std::size_t>(clGetDeviceInfo, custom_, CL_DEVICE_MAX_WORK_GROUP_SIZE), 0u);
  EXPECT_EQ(list<std::size_t>(clGetDeviceInfo, custom_, CL_DEVICE_MAX_WORK_ITEM_SIZES), std::vector<std::size_t>(3, 0));
  EXPECT_EQ(text(clGetDeviceInfo, custom_, CL_DEVICE_BUILT_IN_KERNELS),
            "add_mmm;add_mv;brighten_im;combine_mm;copy_mm;count_mv;fill_mv");
}

TEST_F(CustomDeviceTest, HasNoCompiler) {
  const Owned<cl_context> context = make_context({custom_});
  const Owned<cl_program> program = make_program(context, "fill_mv");
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr), CL_COMPILER_NOT_AVAILABLE);
  EXPECT_EQ(clCompileProgram(program, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
            CL_COMPILER_NOT_AVAILABLE);
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(clCreateProgramWithBuiltInKernels(context, 1, &custom_, "decode_h264", &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_VALUE);
}

TEST_F(CustomDeviceTest, HasNoImageFormats) {
  const Owned<cl_context> context = make_context({custom_});
  cl_uint count = 77;
  EXPECT_EQ(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count),
            CL_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(CustomDeviceTest, RunsABuiltInKernel) {
  const Owned<cl_context> context = make_context({custom_});
  const Owned<cl_command_queue> queue = make_queue(context, custom_);
  const Owned<cl_program> program = built_in(context, custom_, "copy_mm;add_mmm");
  const Owned<cl_kernel> add = make_kernel(program, "add_mmm");
  EXPECT_EQ(value<cl_uint>(clGetKernelInfo, add.get(), CL_KERNEL_NUM_ARGS), 3u);
  EXPECT_EQ(value<std::size_t>(clGetKernelWorkGroupInfo, add.get(), custom_, CL_KERNEL_WORK_GROUP_SIZE), 0u);
  const Owned<cl_mem> sum = make_buffer(context, kCount * sizeof(int));
  const Owned<cl_mem> left = make_buffer(context, std::vector<int>(kCount, 40));
  const Owned<cl_mem> right = make_buffer(context, std::vector<int>(kCount, 2));
  set_arguments(add, left, right, sum);
  check(run(queue, add, kCount));
  EXPECT_EQ(read<int>(queue, sum, kCount), std::vector<int>(kCount, 42));
}

// What the driver does not limit the client does not either.
TEST_F(CustomDeviceTest, TakesAWorkGroupSizeAlthoughItReportsNone) {
  const Owned<cl_context> context = make_context({custom_});
  const Owned<cl_command_queue> queue = make_queue(context, custom_);
  const Owned<cl_kernel> fill = make_kernel(built_in(context, custom_, "fill_mv"), "fill_mv");
  const Owned<cl_mem> buffer = make_buffer(context, kCount * sizeof(int));
  set_arguments(fill, buffer, 3);
  const std::size_t global = kCount, local = 1;
  check(clEnqueueNDRangeKernel(queue, fill, 1, nullptr, &global, &local, 0, nullptr, nullptr));
  EXPECT_EQ(read<int>(queue, buffer, kCount), std::vector<int>(kCount, 3));
}

TEST_F(CustomDeviceTest, SharesAContextWithOrdinaryDevices) {
  const cl_device_id gpu = devices(CL_DEVICE_TYPE_GPU).at(0);
  const Owned<cl_context> context = make_context({gpu, customs_[0], customs_[1]});
  const Owned<cl_command_queue> ordinary = make_queue(context, gpu);
  const Owned<cl_command_queue> here = make_queue(context, customs_[0]);
  const Owned<cl_command_queue> elsewhere = make_queue(context, customs_[1]);
  const Owned<cl_mem> from = make_buffer(context, kCount * sizeof(int));
  const Owned<cl_mem> to = make_buffer(context, kCount * sizeof(int));
  const Owned<cl_mem> sum = make_buffer(context, kCount * sizeof(int));

  const Owned<cl_program> source = make_program(context, "fill_mv");
  check(clBuildProgram(source, 1, &gpu, nullptr, nullptr, nullptr));
  const Owned<cl_kernel> fill = make_kernel(source, "fill_mv");
  set_arguments(fill, from, 21);
  check(run(ordinary, fill, kCount));
  check(clFinish(ordinary));

  const Owned<cl_kernel> copy = make_kernel(built_in(context, customs_[0], "copy_mm"), "copy_mm");
  set_arguments(copy, from, to);
  check(run(here, copy, kCount));
  check(clFinish(here));

  const Owned<cl_kernel> add = make_kernel(built_in(context, customs_[1], "add_mmm"), "add_mmm");
  set_arguments(add, from, to, sum);
  check(run(elsewhere, add, kCount));
  check(clFinish(elsewhere));
  EXPECT_EQ(read<int>(ordinary, sum, kCount), std::vector<int>(kCount, 42));
  EXPECT_EQ(run(here, fill, kCount), CL_INVALID_PROGRAM_EXECUTABLE);
}

}  // namespace
}  // namespace remotecl::testing
