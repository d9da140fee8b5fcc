// Daemons whose driver is the fake one, which fails and waits on command.
#include "icd/fake_driver.h"

#include <unistd.h>

#include <cstdlib>

#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

constexpr char kKernels[] = "add_mmm copy_mm fill_mv";

class OrdinaryDevicesTest : public FakeDriverTest {
 protected:
  const std::vector<cl_device_id> gpus_ = devices(CL_DEVICE_TYPE_GPU);
  const Owned<cl_context> context_ = make_context(gpus_);
  const Owned<cl_command_queue> queue_ = make_queue(context_, gpus_[0], CL_QUEUE_PROFILING_ENABLE);
  const Owned<cl_command_queue> other_ = make_queue(context_, gpus_[1]);
  const Owned<cl_program> program_ = build(context_, kKernels);
  const Owned<cl_kernel> fill_ = make_kernel(program_, "fill_mv");
  const Owned<cl_mem> buffer_ = make_buffer(context_, kCount * sizeof(int));
};

TEST_F(OrdinaryDevicesTest, KernelsOfTwoDaemonsComputeOnTheSameData) {
  ASSERT_EQ(gpus_.size(), 2u);
  const Owned<cl_mem> sum = make_buffer(context_, kCount * sizeof(int));
  const Owned<cl_kernel> add = make_kernel(program_, "add_mmm");
  const Owned<cl_mem> numbers = make_buffer(context_, std::vector<int>(kCount, 5));
  set_arguments(fill_, buffer_, 37);
  set_arguments(add, buffer_, numbers, sum);
  check(run(queue_, fill_, kCount));
  check(clFinish(queue_));
  check(run(other_, add, kCount / 2));
  std::vector<int> expected(kCount / 2, 42);
  EXPECT_EQ(read<int>(other_, sum, kCount / 2), expected);
}

TEST_F(OrdinaryDevicesTest, FailedLaunchIsTheErrorOfItsEvent) {
  set_arguments(fill_, buffer_, 1);
  command_driver("fail=clEnqueueNDRangeKernel:2:-6");
  Owned<cl_event> first, second, third;
  check(run(queue_, fill_, kCount, {}, first.out()));
  check(run(queue_, fill_, kCount, {}, second.out()));
  check(run(queue_, fill_, kCount, {}, third.out()));
  clFinish(queue_);
  EXPECT_EQ(status(first), CL_COMPLETE);
  EXPECT_EQ(status(second), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(status(third), CL_COMPLETE);
}

TEST_F(OrdinaryDevicesTest, KernelThatFailsWhileItRunsFailsWhatWaitsForItElsewhere) {
  set_arguments(fill_, buffer_, 1);
  command_driver("fail=kernel:1:-9999");
  Owned<cl_event> failed, waiting;
  check(run(queue_, fill_, kCount, {}, failed.out()));
  check(clEnqueueMarkerWithWaitList(other_, 1, failed.pointer(), waiting.out()));
  EXPECT_EQ(clWaitForEvents(1, waiting.pointer()), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(status(failed), -9999);
  EXPECT_LT(status(waiting), 0);
}

// A transfer waits for the end of a kernel of which the program has no event.
TEST_F(OrdinaryDevicesTest, KernelThatATransferWaitsForFailsItsQueue) {
  constexpr std::size_t kLarge = 1 << 16;
  const Owned<cl_mem> source = make_buffer(context_, kLarge * sizeof(int)),
                      copy = make_buffer(context_, kLarge * sizeof(int));
  const Owned<cl_kernel> copies = make_kernel(program_, "copy_mm");
  const Owned<cl_command_queue> reader = make_queue(context_, gpus_[1]);
  set_arguments(copies, source, copy);
  const auto fill = [&](int value) {
    check(clEnqueueFillBuffer(queue_, source, &value, sizeof value, 0, kLarge * sizeof value, 0, nullptr, nullptr));
    check(clFinish(queue_));
  };
  fill(1);
  command_driver("kernel-us=100000,fail=kernel:1:-9999");
  check(run(other_, copies, kLarge));
  check(clEnqueueCopyBuffer(other_, copy, copy, 0, kLarge, 4, 0, nullptr, nullptr));
  check(clFlush(other_));
  fill(2);
  EXPECT_EQ(read<int>(reader, source, kLarge), std::vector<int>(kLarge, 2));
  EXPECT_EQ(clFinish(other_), -9999);
  check(clFinish(other_));
}

TEST_F(OrdinaryDevicesTest, KernelsTakeAsLongAsTheyAreTold) {
  set_arguments(fill_, buffer_, 1);
  command_driver("kernel-us=20000");
  Owned<cl_event> event;
  check(run(queue_, fill_, kCount, {}, event.out()));
  check(clWaitForEvents(1, event.pointer()));
  const auto start = value<cl_ulong>(clGetEventProfilingInfo, event.get(), CL_PROFILING_COMMAND_START);
  const auto end = value<cl_ulong>(clGetEventProfilingInfo, event.get(), CL_PROFILING_COMMAND_END);
  EXPECT_GE(end - start, 20'000'000u);
}

TEST_F(OrdinaryDevicesTest, UnlikeDevicesOfOneServerAreBuiltForAtTheSameTime) {
  const std::vector<cl_device_id> unlike{gpus_[0], devices(CL_DEVICE_TYPE_ACCELERATOR)[0]};
  const Owned<cl_context> context = make_context(unlike);
  const std::string_view binary = "BINARY:fill_mv";
  const std::vector<std::size_t> sizes(2, binary.size());
  std::vector<const unsigned char*> binaries(2, reinterpret_cast<const unsigned char*>(binary.data()));
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> program(
      clCreateProgramWithBinary(context, 2, unlike.data(), sizes.data(), binaries.data(), nullptr, &error));
  check(error);
  command_driver("builds-at-once=2");
  check(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr));
  for (const cl_device_id device : unlike) {
    EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, program.get(), device, CL_PROGRAM_BUILD_STATUS),
              CL_BUILD_SUCCESS);
  }
}

TEST_F(OrdinaryDevicesTest, ABuildThatAsksForArgumentsLearnsWhatKernelsOnlyRead) {
  const auto qualifier = [](cl_kernel kernel, cl_uint index) {
    cl_kernel_arg_type_qualifier type = 0;
    const cl_int error = clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, nullptr);
    return std::pair(error, type);
  };
  const Owned<cl_program> asking = build(context_, "combine_mm k_mm", "-cl-kernel-arg-info");
  const Owned<cl_kernel> combine = make_kernel(asking, "combine_mm"), changing = make_kernel(asking, "k_mm");
  EXPECT_EQ(qualifier(combine, 0), std::pair(CL_SUCCESS, cl_kernel_arg_type_qualifier{CL_KERNEL_ARG_TYPE_CONST}));
  EXPECT_EQ(qualifier(combine, 1), std::pair(CL_SUCCESS, cl_kernel_arg_type_qualifier{CL_KERNEL_ARG_TYPE_NONE}));
  EXPECT_EQ(qualifier(changing, 0), std::pair(CL_SUCCESS, cl_kernel_arg_type_qualifier{CL_KERNEL_ARG_TYPE_NONE}));
  EXPECT_EQ(qualifier(fill_, 0).first, CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
}

TEST_F(FakeDriverTest, AcceleratorTakesBinariesOnly) {
  const std::vector<cl_device_id> accelerators = devices(CL_DEVICE_TYPE_ACCELERATOR);
  ASSERT_EQ(accelerators.size(), 2u);
  cl_device_id device = accelerators[0];
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, device, CL_DEVICE_COMPILER_AVAILABLE), cl_bool{CL_FALSE});
  const Owned<cl_context> context = make_context({device});
  const Owned<cl_program> source = make_program(context, kKernels);
  EXPECT_EQ(clBuildProgram(source, 0, nullptr, nullptr, nullptr, nullptr), CL_COMPILER_NOT_AVAILABLE);

  const std::string binary = "BINARY:fill_mv";
  const std::size_t size = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int status = CL_SUCCESS, error = CL_SUCCESS;
  const Owned<cl_program> program(clCreateProgramWithBinary(context, 1, &device, &size, &bytes, &status, &error));
  check(error);
  check(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr));
  const Owned<cl_kernel> fill = make_kernel(program, "fill_mv");
  const Owned<cl_mem> buffer = make_buffer(context, kCount * sizeof(int));
  const Owned<cl_command_queue> queue = make_queue(context, device);
  set_arguments(fill, buffer, 7);
  check(run(queue, fill, kCount));
  EXPECT_EQ(read<int>(queue, buffer, kCount), std::vector<int>(kCount, 7));
}

TEST_F(OrdinaryDevicesTest, AConstantIsSetForTheDevicesThatTakeIl) {
  const Owned<cl_context> context = make_context({devices(CL_DEVICE_TYPE_ACCELERATOR)[0], gpus_[0]});
  const std::string_view code = "fill_mv";
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> program(clCreateProgramWithIL(context, code.data(), code.size(), &error));
  check(error);
  const cl_uint value = 1;
  EXPECT_EQ(clSetProgramSpecializationConstant(program, 0, sizeof value, &value), CL_SUCCESS);
  EXPECT_EQ(clSetProgramSpecializationConstant(program, 4, sizeof value, &value), CL_INVALID_SPEC_ID);
}

TEST_F(OrdinaryDevicesTest, WritesBehindALongKernelDoNotStopAnotherQueue) {
  const std::vector<char> piece(64u << 10, 1);
  const Owned<cl_mem> written = make_buffer(context_, piece.size());
  const Owned<cl_command_queue> same_device =
      make_queue(context_, value<cl_device_id>(clGetCommandQueueInfo, queue_.get(), CL_QUEUE_DEVICE));
  const Owned<cl_mem> other_buffer = make_buffer(context_, std::vector<int>{5});
  set_arguments(fill_, buffer_, 1);
  check(run(queue_, fill_, 1));
  check(clFinish(queue_));
  command_driver("kernel-us=3000000");
  Owned<cl_event> kernel;
  check(run(queue_, fill_, 1, {}, kernel.out()));
  for (int i = 0; i < 1200; ++i) {
    check(clEnqueueWriteBuffer(queue_, written, CL_FALSE, 0, piece.size(), piece.data(), 0, nullptr, nullptr));
  }
  check(clFlush(queue_));
  EXPECT_EQ(read<int>(same_device, other_buffer, 1), std::vector<int>{5});
  EXPECT_NE(status(kernel), CL_COMPLETE);
  check(clFinish(queue_));
  EXPECT_EQ(read<char>(queue_, written, piece.size()), piece);
}

#ifdef REMOTECL_HAS_SCHEDULING
TEST_F(OrdinaryDevicesTest, ADivisionOfWhichAPieceFailsReturnsWhenTheOthersHaveEnded) {
  constexpr std::size_t kLong = 3000;
  const auto split = library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");
  const Owned<cl_mem> long_buffer = make_buffer(context_, kLong * sizeof(int));
  command_driver("item-ns=100000,fail=kernel:2:-9999");  // the second one of each device
  set_arguments(fill_, long_buffer, 1);
  check(run(queue_, fill_, 1));
  check(clFinish(queue_));
  Owned<cl_event> before;
  check(run(other_, fill_, kLong, {}, before.out()));
  set_arguments(fill_, buffer_, 3);
  const cl_command_queue queues[] = {queue_, other_};
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  EXPECT_EQ(split(2, queues, fill_, 0, 1, nullptr, &kCount, nullptr, 1, &slice, 0, nullptr, nullptr), -9999);
  // A piece is behind it in its queue.
  EXPECT_EQ(status(before), CL_COMPLETE);
}
#endif

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) { return remotecl::testing::run_with_two_fake_daemons(argc, argv); }
