#include <algorithm>

#include "icd/mistakes.h"

namespace remotecl::testing {

Mistakes::Range Mistakes::range(Choice& choice) {
  Range range{choice.usually<cl_uint>(1, {0, 2, 3, 4}), {}, {1, 1, 1}, {1, 1, 1}, choice.one_in(2)};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    range.offset[axis] = choice.usually<std::size_t>(0, {1, 7, 1u << 20, std::size_t{1} << 33});
    range.global[axis] = choice.usually<std::size_t>(16, {0, 1, 4, 7, 64});
    range.local[axis] =
        choice.usually<std::size_t>(4, {0, 1, 3, 16, 64, 4096, 4097, std::size_t{1} << 33, ~std::size_t{0}});
  }
  return range;
}

cl_int Mistakes::launch(cl_kernel kernel, const Range& range) {
  cl_event event = nullptr;
  const cl_int code = clEnqueueNDRangeKernel(queue_, kernel, range.dimensions, range.offset.data(), range.global.data(),
                                             range.has_local ? range.local.data() : nullptr, 0, nullptr, &event);
  return settle(code, event);
}

cl_int Mistakes::run_range(Choice& choice) {
  const cl_kernel kernel = choice.of<cl_kernel>({add_, by_four_, local_, looks_, values_});
  return launch(kernel, range(choice));
}

cl_int Mistakes::run_task(Choice& choice) {
  const cl_kernel kernel = choice.of<cl_kernel>({add_, by_four_, local_, looks_, paints_});
  cl_event event = nullptr;
  return settle(clEnqueueTask(queue_, kernel, 0, nullptr, &event), event);
}

cl_int Mistakes::set_value(Choice& choice) {
  const cl_uint index = choice.usually<cl_uint>(1, {2, 3, 4, 77});
  const std::size_t bytes = choice.usually<std::size_t>(8, {0, 1, 4, 16, 17, 32});
  const cl_int code = clSetKernelArg(values_, index, bytes, choice.one_in(20) ? nullptr : host());
  return code != CL_SUCCESS ? code : launch(values_, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

cl_int Mistakes::set_memory(Choice& choice) {
  const cl_mem to = buffer(choice);
  const std::size_t bytes = choice.usually<std::size_t>(sizeof to, {0, 4, 16});
  const cl_int code = clSetKernelArg(add_, 0, bytes, &to);
  return code != CL_SUCCESS ? code : launch(add_, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

// What belongs elsewhere, too: objects of other kinds and plain values.
cl_int Mistakes::set_image(Choice& choice) {
  const cl_kernel kernel = choice.of<cl_kernel>({looks_, paints_});
  const cl_mem picture = choice.usually<cl_mem>(images_[choice.below(images_.size())], {plain_, foreign_, nullptr});
  const std::size_t bytes = choice.usually<std::size_t>(sizeof picture, {0, 4, 16});
  const std::uint64_t number = choice.below(1000);
  const void* const given[] = {&picture, &sampler_, &number, nullptr};
  const cl_int code = clSetKernelArg(kernel, 0, bytes, given[choice.usually<std::size_t>(0, {1, 2, 3})]);
  return code != CL_SUCCESS ? code : launch(kernel, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

cl_int Mistakes::set_sampler(Choice& choice) {
  const std::size_t bytes = choice.usually<std::size_t>(sizeof sampler_, {0, 4, 16});
  const std::uint64_t number = choice.below(1000);
  const void* const given[] = {&sampler_, plain_.pointer(), images_[0].pointer(), &number, nullptr};
  const cl_int code = clSetKernelArg(looks_, 1, bytes, given[choice.usually<std::size_t>(0, {1, 2, 3, 4})]);
  return code != CL_SUCCESS ? code : launch(looks_, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

cl_int Mistakes::set_local(Choice& choice) {
  const auto bytes = choice.usually<std::size_t>(64, {0, 4, local_size_ / 2, local_size_, local_size_ + 1,
                                                      2 * local_size_, std::size_t{1} << 40, ~std::size_t{0}});
  const cl_int code = clSetKernelArg(local_, 1, bytes, choice.one_in(10) ? host() : nullptr);
  return code != CL_SUCCESS ? code : launch(local_, range(choice));
}

cl_int Mistakes::set_svm(Choice& choice) {
  const cl_kernel kernel = choice.usually<cl_kernel>(add_, {looks_, values_});
  const cl_uint index = choice.usually<cl_uint>(0, {1, 2, 77});
  char* const at = choice.usually<char*>(svm_ + choice.below(8) * 128, {nullptr, svm_ + 4});
  cl_int code = clSetKernelArgSVMPointer(kernel, index, at);
  void* const pointers[] = {choice.usually<void*>(svm_, {nullptr})};
  const std::size_t bytes = choice.usually<std::size_t>(sizeof pointers, {0, 4, 12});
  const auto name = choice.usually<cl_kernel_exec_info>(CL_KERNEL_EXEC_INFO_SVM_PTRS,
                                                        {CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 0x1234});
  if (code == CL_SUCCESS) code = clSetKernelExecInfo(add_, name, bytes, pointers);
  return code != CL_SUCCESS ? code : launch(kernel, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

cl_int Mistakes::wait_for(Choice& choice) {
  const Waits after = waits(choice);
  cl_event event = nullptr;
  switch (choice.below(3)) {
    case 0:
      return settle(clEnqueueMarkerWithWaitList(queue_, after.count, after.list, &event), event);
    case 1:
      return settle(clEnqueueBarrierWithWaitList(queue_, after.count, after.list, &event), event);
    default:
      return clWaitForEvents(after.count, after.list);
  }
}

// What the runtime does not know is asked of the driver.
cl_int Mistakes::work_group_info(Choice& choice) {
  const auto name = choice.usually<cl_kernel_work_group_info>(
      CL_KERNEL_WORK_GROUP_SIZE, {CL_KERNEL_GLOBAL_WORK_SIZE, CL_KERNEL_LOCAL_MEM_SIZE, 0, 0x11B9, 0x1234});
  const std::size_t bytes = choice.usually<std::size_t>(24, {0, 1, 8, 4096});
  return clGetKernelWorkGroupInfo(add_, device_, name, bytes, choice.one_in(4) ? nullptr : host(), nullptr);
}

cl_int Mistakes::sub_group_info(Choice& choice) {
  const auto name = choice.usually<cl_kernel_sub_group_info>(
      CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
      {CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, CL_KERNEL_MAX_NUM_SUB_GROUPS,
       CL_KERNEL_COMPILE_NUM_SUB_GROUPS, 0, 0x1234});
  std::size_t input[4] = {4, 1, 1, 1};
  if (choice.one_in(4)) input[0] = choice.of<std::size_t>({0, 4097, ~std::size_t{0}});
  const std::size_t input_bytes = choice.usually<std::size_t>(sizeof(std::size_t), {0, 4, 16, 24, 32});
  const std::size_t bytes = choice.usually<std::size_t>(sizeof(std::size_t), {0, 4, 24});
  return clGetKernelSubGroupInfo(add_, device_, name, input_bytes, choice.one_in(8) ? nullptr : input, bytes,
                                 choice.one_in(8) ? nullptr : host(), nullptr);
}

cl_int Mistakes::suggested_size(Choice& choice) {
  const auto function =
      reinterpret_cast<clGetKernelSuggestedLocalWorkSizeKHR_fn>(clGetExtensionFunctionAddressForPlatform(
          value<cl_platform_id>(clGetDeviceInfo, device_, cl_uint{CL_DEVICE_PLATFORM}),
          "clGetKernelSuggestedLocalWorkSizeKHR"));
  if (function == nullptr) return CL_INVALID_OPERATION;
  const Range of = range(choice);
  std::size_t local[3] = {};
  return function(queue_, choice.of<cl_kernel>({add_, by_four_, looks_}), of.dimensions, of.offset.data(),
                  of.global.data(), local);
}

cl_int Mistakes::build_options(Choice& choice) {
  const char* const source = choice.usually("kernel void f(global int* x) { x[0] = N; }",
                                            {"", "kernel void f(", "kernel int f() { return 1; }", "\xff\xfe"});
  const char* const options = choice.usually<const char*>(
      "-DN=1", {"", "-D", "-cl-std=CL9", "-cl-std=CL1.2 -DN=2", "-x spir", "-nonsense", "-I", "-DN=1 -Werror", "\xff"});
  const Owned<cl_program> program = make_program(context_, source);
  const cl_int code = clBuildProgram(program, 1, &device_, options, nullptr, nullptr);
  if (code != CL_SUCCESS) return code;
  cl_int error = CL_SUCCESS;
  const Owned<cl_kernel> kernel(clCreateKernel(program, choice.usually("f", {"", "g"}), &error));
  return error;
}

cl_int Mistakes::built_in_kernels(Choice& choice) {
  const std::string known = text(clGetDeviceInfo, device_, cl_uint{CL_DEVICE_BUILT_IN_KERNELS});
  const std::string first = known.substr(0, known.find(';'));
  const std::string names = choice.usually(first, {std::string("nonsense"), known, first + ";", first + ";nonsense"});
  cl_int code = CL_SUCCESS;
  const Owned<cl_program> program(clCreateProgramWithBuiltInKernels(context_, 1, &device_, names.c_str(), &code));
  if (code != CL_SUCCESS) return code;
  const Owned<cl_kernel> kernel(clCreateKernel(program, first.c_str(), &code));
  if (code != CL_SUCCESS) return code;
  const auto count = value<cl_uint>(clGetKernelInfo, kernel.get(), cl_uint{CL_KERNEL_NUM_ARGS});
  for (cl_uint index = 0; index < count; ++index) {
    if (!choice.one_in(8)) code = set_arg(kernel, index, plain_);
    if (code != CL_SUCCESS) return code;
  }
  return launch(kernel, range(choice));
}

cl_int Mistakes::create_queue(Choice& choice) {
  const auto properties = choice.usually<cl_command_queue_properties>(
      0, {CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_ON_DEVICE, 1u << 20});
  cl_int code = CL_SUCCESS;
  const Owned<cl_command_queue> made(clCreateCommandQueue(context_, device_, properties, &code));
  return code != CL_SUCCESS ? code : clFinish(made);
}

cl_int Mistakes::sub_devices(Choice& choice) {
  using Property = cl_device_partition_property;
  const auto how = choice.usually<Property>(
      CL_DEVICE_PARTITION_EQUALLY, {CL_DEVICE_PARTITION_BY_COUNTS, CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, 0x1234});
  const Property properties[] = {how, choice.usually<Property>(1, {0, 2, 1000, -1}), 0, 0};
  cl_device_id parts[64] = {};
  cl_uint count = 0;
  const cl_int code = clCreateSubDevices(device_, properties, choice.usually<cl_uint>(64, {0, 1}), parts, &count);
  if (code != CL_SUCCESS) return code;
  for (cl_uint i = 0; i < std::min<cl_uint>(count, 64); ++i) clReleaseDevice(parts[i]);
  return code;
}

}  // namespace remotecl::testing
