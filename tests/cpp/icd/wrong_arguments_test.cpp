// Arguments that a kernel cannot take, which a driver may believe: some of these ended the daemon of everybody.
#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

constexpr char kKinds[] = R"(
kernel void kinds(read_only image2d_t image, sampler_t sampler, global int* data, long number) {
  data[0] = read_imagei(image, sampler, (float2)(0, 0)).x + (int)number;
}
kernel void scratch(global int* data, local int* first, local int* second) {
  first[0] = second[0] = data[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[0] = first[0] + second[0];
}
)";

enum Argument : cl_uint { kImage, kSampler, kData, kNumber };

class WrongArgumentsTest : public RemoteTest {
 protected:
  ~WrongArgumentsTest() override {
    if (sampler_ != nullptr) clReleaseSampler(sampler_);
  }

  void make_objects() {
    const cl_image_format format{CL_RGBA, CL_SIGNED_INT32};
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = description.image_height = 4;
    cl_int error = CL_SUCCESS;
    image_ = Owned<cl_mem>(clCreateImage(context_, CL_MEM_READ_ONLY, &format, &description, nullptr, &error));
    check(error);
    sampler_ = clCreateSampler(context_, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
    check(error);
  }

  cl_ulong local_memory() { return value<cl_ulong>(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_LOCAL_MEM_SIZE}); }

  void expect_the_daemon_lives() {
    const auto add = kernel("add");
    check(set_arg(add, 0, buffer_));
    check(set_arg(add, 1, 5));
    check(run(queue_, add, 4));
    EXPECT_EQ(read<int>(queue_, buffer_, 4), (std::vector<int>{5, 6, 7, 8}));
  }

  Owned<cl_mem> buffer_ = make_buffer(context_, numbers(4));
  Owned<cl_mem> image_;
  cl_sampler sampler_ = nullptr;
};

TEST_F(WrongArgumentsTest, MoreLocalMemoryThanThereIsIsRefused) {
  const auto program = build(context_, kKinds);
  const auto scratch = make_kernel(program, "scratch");
  check(set_arg(scratch, 0, buffer_));
  check(clSetKernelArg(scratch, 1, local_memory() / 2, nullptr));
  for (const cl_ulong size : {local_memory() / 2 + 16, 2 * local_memory(), ~cl_ulong{0} - local_memory() / 2 + 1}) {
    check(clSetKernelArg(scratch, 2, size, nullptr));
    EXPECT_EQ(run(queue_, scratch, 1), CL_OUT_OF_RESOURCES) << size;
    EXPECT_EQ(clFinish(queue_), CL_SUCCESS);
  }
  expect_the_daemon_lives();
}

TEST_F(WrongArgumentsTest, AllLocalMemoryThatThereIsIsTaken) {
  if (!Environment::get().is_pocl()) GTEST_SKIP() << "other drivers need some for themselves";
  const auto program = build(context_, kKinds);
  const auto scratch = make_kernel(program, "scratch");
  const auto data = make_buffer(context_, numbers(1, 21));
  check(set_arg(scratch, 0, data));
  check(clSetKernelArg(scratch, 1, local_memory() / 2, nullptr));
  check(clSetKernelArg(scratch, 2, local_memory() - local_memory() / 2, nullptr));
  check(run(queue_, scratch, 1));
  EXPECT_EQ(read<int>(queue_, data, 1), std::vector<int>{42});
}

TEST_F(WrongArgumentsTest, KernelsWithMoreLocalMemoryThanThereIsAreRefused) {
  const std::string count = std::to_string(local_memory() / sizeof(int) + 4096);
  const auto program = make_program(
      context_, "kernel void big(global int* data) { local int x[" + count + "]; for (int i = 0; i < " + count +
                    "; i++) x[i] = data[0]; barrier(CLK_LOCAL_MEM_FENCE); data[1] = x[" + count + " - 1]; }");
  const cl_int built = clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr);
  if (built == CL_SUCCESS) {  // other compilers refuse it
    const auto big = make_kernel(program, "big");
    check(set_arg(big, 0, buffer_));
    EXPECT_EQ(run(queue_, big, 1), CL_OUT_OF_RESOURCES);
    EXPECT_EQ(clFinish(queue_), CL_SUCCESS);
  }
  expect_the_daemon_lives();
}

// PoCL looks for pixels where an image of that type would have them.
TEST_F(WrongArgumentsTest, ImagesOfAnotherTypeAreRefused) {
  if (value<cl_bool>(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_IMAGE_SUPPORT}) == CL_FALSE) {
    GTEST_SKIP() << "the device has no images";
  }
  make_objects();
  const cl_image_format format{CL_RGBA, CL_SIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE1D;
  description.image_width = 4;
  cl_int error = CL_SUCCESS;
  const Owned<cl_mem> line(clCreateImage(context_, CL_MEM_READ_WRITE, &format, &description, nullptr, &error));
  check(error);
  for (const char* options : {"", "-cl-kernel-arg-info"}) {
    const auto program = build(context_, kKinds, options);
    const auto kinds = make_kernel(program, "kinds");
    // A driver need not tell the types of arguments unless it is asked to; then it judges itself, at the launch.
    std::size_t size = 0;
    const bool tells = clGetKernelArgInfo(kinds, kImage, CL_KERNEL_ARG_TYPE_NAME, 0, nullptr, &size) == CL_SUCCESS;
    EXPECT_TRUE(tells || *options == '\0');
    if (tells) {
      EXPECT_EQ(set_arg(kinds, kImage, line), CL_INVALID_ARG_VALUE) << options;
    }
    EXPECT_EQ(set_arg(kinds, kImage, image_), CL_SUCCESS) << options;
  }
}

TEST_F(WrongArgumentsTest, AnEmptyProgramHasNoKernels) {
  const auto program = make_program(context_, "");
  if (clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr) == CL_SUCCESS) {
    cl_uint count = 7;
    const cl_int code = clCreateKernelsInProgram(program, 0, nullptr, &count);
    EXPECT_TRUE(code != CL_SUCCESS || count == 0) << count;
  }
  expect_the_daemon_lives();
}

TEST_F(WrongArgumentsTest, ObjectsOfAnotherKindAreRefused) {
  if (value<cl_bool>(clGetDeviceInfo, device(), cl_uint{CL_DEVICE_IMAGE_SUPPORT}) == CL_FALSE) {
    GTEST_SKIP() << "the device has no images";
  }
  make_objects();
  const cl_long number = 0x10;
  for (const char* options : {"", "-cl-kernel-arg-info"}) {
    const auto program = build(context_, kKinds, options);
    const auto kinds = make_kernel(program, "kinds");
    EXPECT_EQ(set_arg(kinds, kImage, buffer_), CL_INVALID_MEM_OBJECT) << options;
    EXPECT_EQ(set_arg(kinds, kImage, sampler_), CL_INVALID_MEM_OBJECT) << options;
    EXPECT_EQ(set_arg(kinds, kImage, number), CL_INVALID_MEM_OBJECT) << options;
    EXPECT_EQ(set_arg(kinds, kSampler, buffer_), CL_INVALID_SAMPLER) << options;
    EXPECT_EQ(set_arg(kinds, kSampler, image_), CL_INVALID_SAMPLER) << options;
    EXPECT_EQ(set_arg(kinds, kSampler, number), CL_INVALID_SAMPLER) << options;
    EXPECT_EQ(set_arg(kinds, kData, image_), CL_INVALID_ARG_VALUE) << options;
    EXPECT_EQ(set_arg(kinds, kData, sampler_), CL_INVALID_MEM_OBJECT) << options;
    EXPECT_EQ(set_arg(kinds, kNumber, 1), CL_INVALID_ARG_SIZE) << options;
    EXPECT_EQ(run(queue_, kinds, 1), CL_INVALID_KERNEL_ARGS) << options;
  }
  expect_the_daemon_lives();
}

}  // namespace
}  // namespace remotecl::testing
