// What programs and kernels are asked, and programs that come from elsewhere than source: native beside remote.
#include <CL/cl_ext.h>

#include <functional>
#include <tuple>

#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

// An answer of either driver, made comparable.
template <class Get>
std::pair<cl_int, std::vector<unsigned char>> answer(Get&& get) {
  std::vector<unsigned char> bytes(64, 0xEE);
  std::size_t size = 0;
  const cl_int error = get(bytes.size(), bytes.data(), &size);
  bytes.resize(error == CL_SUCCESS ? size : 0);
  return {error, bytes};
}

void expect_same(const char* what, const std::function<cl_int(World&, std::size_t, void*, std::size_t*)>& get) {
  SCOPED_TRACE(what);
  if (Environment::get().native_device() == nullptr) GTEST_SKIP() << "no native driver";
  const auto bind = [&](World& world) {
    return answer(
        [&](std::size_t size, void* value, std::size_t* size_ret) { return get(world, size, value, size_ret); });
  };
  EXPECT_EQ(bind(World::remote()), bind(World::native()));
}

TEST(KernelQueryTest, WorkGroupInfoIsTheNativeDrivers) {
  for (const cl_kernel_work_group_info name :
       {CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, CL_KERNEL_LOCAL_MEM_SIZE,
        CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, CL_KERNEL_PRIVATE_MEM_SIZE, CL_KERNEL_GLOBAL_WORK_SIZE, 0x4109}) {
    expect_same(std::to_string(name).c_str(), [name](World& w, std::size_t size, void* value, std::size_t* size_ret) {
      return clGetKernelWorkGroupInfo(w.by_four, w.device, name, size, value, size_ret);
    });
  }
}

TEST(KernelQueryTest, SubGroupInfoIsTheNativeDrivers) {
  const std::size_t input[3] = {4, 1, 1};
  for (const cl_kernel_sub_group_info name :
       {CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE,
        CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, CL_KERNEL_MAX_NUM_SUB_GROUPS, CL_KERNEL_COMPILE_NUM_SUB_GROUPS}) {
    expect_same(std::to_string(name).c_str(), [&](World& w, std::size_t size, void* value, std::size_t* size_ret) {
      return clGetKernelSubGroupInfo(w.add, w.device, name, sizeof input, input, size, value, size_ret);
    });
  }
}

// NVIDIA's driver launches larger groups than it says it does.
TEST(KernelQueryTest, LargestGroupsAreTheNativeDrivers) {
  if (Environment::get().native_device() == nullptr) GTEST_SKIP() << "no native driver";
  World &remote = World::remote(), &native = World::native();
  const auto nothing = [](World& w) { return make_kernel(build(w.context, "kernel void nothing() {}"), "nothing"); };
  const Owned<cl_kernel> kernel = nothing(remote), native_kernel = nothing(native);
  const auto launch = [](World& w, cl_kernel one, std::size_t size) {
    const cl_int error = clEnqueueNDRangeKernel(w.queue, one, 1, nullptr, &size, &size, 0, nullptr, nullptr);
    // Too large for the device is too large in one dimension, too: either code is right.
    const bool too_large = error == CL_INVALID_WORK_GROUP_SIZE || error == CL_INVALID_WORK_ITEM_SIZE;
    return std::tuple(too_large, too_large ? CL_SUCCESS : error, clFinish(w.queue));
  };
  std::size_t size = 0;
  clGetKernelWorkGroupInfo(kernel, remote.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof size, &size, nullptr);
  for (int again = 0; again < 2; ++again) {
    for (std::size_t group = size / 2; group <= 16 * size; group *= 2) {
      EXPECT_EQ(launch(remote, kernel, group), launch(native, native_kernel, group)) << group;
    }
  }
}

TEST(KernelQueryTest, DeviceInfoOfCompilersIsTheNativeDrivers) {
  for (const cl_device_info name :
       {CL_DEVICE_LINKER_AVAILABLE, CL_DEVICE_COMPILER_AVAILABLE, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT}) {
    expect_same(std::to_string(name).c_str(), [name](World& w, std::size_t size, void* value, std::size_t* size_ret) {
      return clGetDeviceInfo(w.device, name, size, value, size_ret);
    });
  }
  if (Environment::get().native_device() == nullptr) GTEST_SKIP() << "no native driver";
  for (const cl_device_info name : {CL_DEVICE_IL_VERSION, CL_DEVICE_BUILT_IN_KERNELS}) {
    EXPECT_EQ(text(clGetDeviceInfo, World::remote().device, name), text(clGetDeviceInfo, World::native().device, name));
  }
}

TEST(KernelQueryTest, BuiltInKernelsAreThoseOfTheDevice) {
  World& world = World::remote();
  const auto create = [&](const char* names) {
    cl_int error = CL_SUCCESS;
    const Owned<cl_program> program(clCreateProgramWithBuiltInKernels(world.context, 1, &world.device, names, &error));
    EXPECT_EQ(program != nullptr, error == CL_SUCCESS);
    return error;
  };
  EXPECT_EQ(create("no.such.kernel"), CL_INVALID_VALUE);
  const std::string names = text(clGetDeviceInfo, world.device, CL_DEVICE_BUILT_IN_KERNELS);
  if (names.empty()) GTEST_SKIP() << "the device has no built-in kernels";
  EXPECT_EQ(create(names.substr(0, names.find(';')).c_str()), CL_SUCCESS);
  EXPECT_EQ(create((names + ";no.such.kernel").c_str()), CL_INVALID_VALUE);
}

TEST(KernelQueryTest, IntermediateLanguageNeedsADeviceThatTakesIt) {
  World& world = World::remote();
  const char garbage[] = "this is no intermediate language";
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(clCreateProgramWithIL(world.context, garbage, sizeof garbage, &error), nullptr);
  const bool takes_il = !text(clGetDeviceInfo, world.device, CL_DEVICE_IL_VERSION).empty();
  EXPECT_EQ(error, takes_il ? CL_INVALID_VALUE : CL_INVALID_OPERATION);
  const cl_uint value = 1;
  EXPECT_EQ(clSetProgramSpecializationConstant(world.program, 0, sizeof value, &value),
            takes_il ? CL_INVALID_PROGRAM : CL_INVALID_OPERATION);
}

TEST(KernelQueryTest, AClonedKernelHasTheArgumentsOfTheMomentAndKeepsThem) {
  World& world = World::remote();
  const Owned<cl_mem> data = make_buffer(world.context, std::vector<int>(4, 1));
  const Owned<cl_kernel> original = make_kernel(world.program, "add");
  check(set_arg(original, 0, data));
  check(set_arg(original, 1, 10));
  check(run(world.queue, original, 4));  // its arguments have been sent
  cl_int error = CL_SUCCESS;
  const Owned<cl_kernel> clone(clCloneKernel(original, &error));
  ASSERT_EQ(error, CL_SUCCESS);
  check(set_arg(original, 1, 1000));
  check(run(world.queue, clone, 4));
  EXPECT_EQ(read<int>(world.queue, data, 4), std::vector<int>(4, 21));
}

TEST(KernelQueryTest, ExtensionFunctionsAreFound) {
  for (const char* name :
       {"clCreateProgramWithILKHR", "clGetKernelSubGroupInfoKHR", "clGetKernelSuggestedLocalWorkSizeKHR"}) {
    EXPECT_NE(clGetExtensionFunctionAddressForPlatform(Environment::get().remote_platform(), name), nullptr) << name;
  }
}

}  // namespace
}  // namespace remotecl::testing
