// Creates, queries, kernels, programs and events that go wrong.
#include <cstdint>

#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

#define CALL(expression) [](World& w) -> cl_int { return expression; }
#define CREATE(expression) [](World& w) -> cl_int { return error_of([&](cl_int* error) { return expression; }); }

cl_int launch(World& w, cl_kernel kernel, cl_uint dimensions, std::size_t global, std::size_t local,
              std::size_t offset = 0, cl_uint count = 0, const cl_event* list = nullptr) {
  const std::size_t globals[3] = {global, 1, 1}, locals[3] = {local, 1, 1}, offsets[3] = {offset, 0, 0};
  const cl_int error = clEnqueueNDRangeKernel(w.queue, kernel, dimensions, offsets, globals,
                                              local == 0 ? nullptr : locals, count, list, nullptr);
  clFinish(w.queue);
  return error;
}
cl_int sub_buffer(cl_mem of, cl_mem_flags flags, std::size_t origin, std::size_t size) {
  return error_of([&](cl_int* error) {
    const cl_buffer_region region{origin, size};
    return clCreateSubBuffer(of, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, error);
  });
}
constexpr cl_mem_flags kBoth = CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;

const WrongCall kBuffers[] = {
    {"BufferOfNothing", CL_INVALID_BUFFER_SIZE, CREATE(clCreateBuffer(w.context, 0, 0, nullptr, error))},
    {"BufferOf2To60", CL_INVALID_BUFFER_SIZE,
     CREATE(clCreateBuffer(w.context, 0, std::size_t{1} << 60, nullptr, error))},
    {"BufferOfEverything", CL_INVALID_BUFFER_SIZE,
     CREATE(clCreateBuffer(w.context, 0, ~std::size_t{0}, nullptr, error))},
    {"BufferReadOnlyAndWriteOnly", CL_INVALID_VALUE, CREATE(clCreateBuffer(w.context, kBoth, 64, nullptr, error))},
    {"BufferUnknownFlag", CL_INVALID_VALUE,
     CREATE(clCreateBuffer(w.context, cl_mem_flags{1} << 40, 64, nullptr, error))},
    {"BufferUseWithoutPointer", CL_INVALID_HOST_PTR,
     CREATE(clCreateBuffer(w.context, CL_MEM_USE_HOST_PTR, 64, nullptr, error))},
    {"BufferCopyWithoutPointer", CL_INVALID_HOST_PTR,
     CREATE(clCreateBuffer(w.context, CL_MEM_COPY_HOST_PTR, 64, nullptr, error))},
    {"BufferPointerWithoutFlag", CL_INVALID_HOST_PTR, CREATE(clCreateBuffer(w.context, 0, 64, w.host.data(), error))},
    {"BufferUseAndCopy", CL_INVALID_VALUE,
     CREATE(clCreateBuffer(w.context, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 64, w.host.data(), error))},
    {"BufferUseAndAlloc", CL_INVALID_VALUE,
     CREATE(clCreateBuffer(w.context, CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 64, w.host.data(), error))},
    {"BufferTwoHostAccesses", CL_INVALID_VALUE,
     CREATE(clCreateBuffer(w.context, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, 64, nullptr, error))},
    {"SubBufferPastEnd", CL_INVALID_VALUE, CALL(sub_buffer(w.buffer, 0, 4096 - 128, 256))},
    {"SubBufferOverflow", CL_INVALID_VALUE, CALL(sub_buffer(w.buffer, 0, 128, ~std::size_t{0} - 64)),
     "PoCL adds origin and size without looking at the overflow"},
    {"SubBufferOfNothing", CL_INVALID_BUFFER_SIZE, CALL(sub_buffer(w.buffer, 0, 0, 0))},
    {"SubBufferMisaligned", CL_MISALIGNED_SUB_BUFFER_OFFSET, CALL(sub_buffer(w.buffer, 0, 1, 64))},
    {"SubBufferOfSubBuffer", CL_INVALID_MEM_OBJECT, CALL(sub_buffer(w.sub, 0, 0, 64))},
    {"SubBufferBothAccesses", CL_INVALID_VALUE, CALL(sub_buffer(w.buffer, kBoth, 0, 64)), "PoCL takes any access"},
    {"SubBufferWithHostPointer", CL_INVALID_VALUE, CALL(sub_buffer(w.buffer, CL_MEM_USE_HOST_PTR, 0, 64))},
    {"SubBufferMayReadWhatHostMayNot", CL_INVALID_VALUE,
     CALL(sub_buffer(w.host_write_only, CL_MEM_HOST_READ_ONLY, 0, 64))},
    {"SubBufferUnknownType", CL_INVALID_VALUE,
     [](World& w) {
       return error_of([&](cl_int* error) {
         const cl_buffer_region all{0, 64};
         return clCreateSubBuffer(w.buffer, 0, 0x9999, &all, error);
       });
     }},
    {"MemInfoUnknown", CL_INVALID_VALUE, CALL(clGetMemObjectInfo(w.buffer, 0x7777, 8, w.host.data(), nullptr))},
    {"MemInfoTooSmall", CL_INVALID_VALUE, CALL(clGetMemObjectInfo(w.buffer, CL_MEM_SIZE, 4, w.host.data(), nullptr))},
    {"MemDestructorNull", CL_INVALID_VALUE, CALL(clSetMemObjectDestructorCallback(w.buffer, nullptr, nullptr))},
};
INSTANTIATE_TEST_SUITE_P(Buffer, WrongCallTest, ::testing::ValuesIn(kBuffers), wrong_call_name);

const cl_context_properties kUnknownProperty[] = {0x7777, 1, 0};

const WrongCall kContexts[] = {
    {"ContextNoDevices", CL_INVALID_VALUE,
     CREATE((static_cast<void>(w), clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, error))),
     "the loader answers"},
    {"ContextZeroDevices", CL_INVALID_VALUE, CREATE(clCreateContext(nullptr, 0, &w.device, nullptr, nullptr, error)),
     "the loader answers"},
    {"ContextUserDataWithoutCallback", CL_INVALID_VALUE,
     CREATE(clCreateContext(nullptr, 1, &w.device, nullptr, w.host.data(), error))},
    {"ContextUnknownProperty", CL_INVALID_PROPERTY,
     CREATE(clCreateContext(kUnknownProperty, 1, &w.device, nullptr, nullptr, error))},
    {"ContextInfoUnknown", CL_INVALID_VALUE, CALL(clGetContextInfo(w.context, 0x7777, 8, w.host.data(), nullptr))},
    {"ContextInfoTooSmall", CL_INVALID_VALUE,
     CALL(clGetContextInfo(w.context, CL_CONTEXT_DEVICES, 4, w.host.data(), nullptr))},
    {"DeviceInfoUnknown", CL_INVALID_VALUE, CALL(clGetDeviceInfo(w.device, 0x7777, 8, w.host.data(), nullptr))},
    {"DeviceInfoTooSmall", CL_INVALID_VALUE,
     CALL(clGetDeviceInfo(w.device, CL_DEVICE_NAME, 1, w.host.data(), nullptr))},
    {"QueueUnknownProperty", CL_INVALID_VALUE, CREATE(clCreateCommandQueue(w.context, w.device, 1u << 20, error))},
    {"QueueNoDevice", CL_INVALID_DEVICE, CREATE(clCreateCommandQueue(w.context, nullptr, 0, error))},
    {"QueueInfoUnknown", CL_INVALID_VALUE, CALL(clGetCommandQueueInfo(w.queue, 0x7777, 8, w.host.data(), nullptr))},
    {"QueueInfoTooSmall", CL_INVALID_VALUE,
     CALL(clGetCommandQueueInfo(w.queue, CL_QUEUE_CONTEXT, 4, w.host.data(), nullptr))},
};
INSTANTIATE_TEST_SUITE_P(Context, WrongCallTest, ::testing::ValuesIn(kContexts), wrong_call_name);

void CL_CALLBACK ignore_build(cl_program, void*) {}

const WrongCall kPrograms[] = {
    {"ProgramNoStrings", CL_INVALID_VALUE, CREATE(clCreateProgramWithSource(w.context, 1, nullptr, nullptr, error)),
     "PoCL crashes"},
    {"ProgramZeroStrings", CL_INVALID_VALUE,
     [](World& w) {
       return error_of([&](cl_int* error) {
         const char* text = "";
         return clCreateProgramWithSource(w.context, 0, &text, nullptr, error);
       });
     }},
    {"ProgramNullString", CL_INVALID_VALUE,
     [](World& w) {
       return error_of([&](cl_int* error) {
         const char* text = nullptr;
         return clCreateProgramWithSource(w.context, 1, &text, nullptr, error);
       });
     }},
    {"BuildUserDataWithoutCallback", CL_INVALID_VALUE,
     CALL(clBuildProgram(w.unbuilt, 0, nullptr, nullptr, nullptr, w.host.data()))},
    {"BuildCountWithoutDevices", CL_INVALID_VALUE,
     CALL(clBuildProgram(w.unbuilt, 1, nullptr, nullptr, nullptr, nullptr))},
    {"BuildDevicesWithoutCount", CL_INVALID_VALUE,
     CALL(clBuildProgram(w.unbuilt, 0, &w.device, nullptr, nullptr, nullptr))},
    {"BuildWithKernelsAttached", CL_INVALID_OPERATION,
     CALL(clBuildProgram(w.program, 0, nullptr, nullptr, ignore_build, nullptr))},
    {"BuildBrokenSource", CL_BUILD_PROGRAM_FAILURE,
     CALL(clBuildProgram(w.broken, 0, nullptr, nullptr, nullptr, nullptr))},
    {"BuildInfoNoDevice", CL_INVALID_DEVICE,
     CALL(clGetProgramBuildInfo(w.program, nullptr, CL_PROGRAM_BUILD_LOG, 0, nullptr, nullptr))},
    {"BuildInfoUnknown", CL_INVALID_VALUE,
     CALL(clGetProgramBuildInfo(w.program, w.device, 0x7777, 0, nullptr, nullptr))},
    {"ProgramInfoUnknown", CL_INVALID_VALUE, CALL(clGetProgramInfo(w.program, 0x7777, 0, nullptr, nullptr))},
    {"ProgramInfoTooSmall", CL_INVALID_VALUE,
     CALL(clGetProgramInfo(w.program, CL_PROGRAM_SOURCE, 3, w.host.data(), nullptr))},
    {"ProgramKernelsOfUnbuilt", CL_INVALID_PROGRAM_EXECUTABLE,
     CALL(clGetProgramInfo(w.unbuilt, CL_PROGRAM_KERNEL_NAMES, 100, w.host.data(), nullptr))},
    {"BinaryOfNothing", CL_INVALID_VALUE,
     [](World& w) {
       return error_of([&](cl_int* error) {
         const std::size_t none = 0;
         const auto* bytes = reinterpret_cast<const unsigned char*>("x");
         return clCreateProgramWithBinary(w.context, 1, &w.device, &none, &bytes, nullptr, error);
       });
     }},
};
// A compiler of its own mind: CL_INVALID_BUILD_OPTIONS from one, CL_BUILD_PROGRAM_FAILURE from another.
TEST(WrongObjectsTest, UnknownOptionGetsTheDriversAnswer) {
  if (Environment::get().native_device() == nullptr) GTEST_SKIP() << "no native driver to compare with";
  const auto error = [](World& w) {
    return clBuildProgram(w.unbuilt, 0, nullptr, "-cl-no-such-option", nullptr, nullptr);
  };
  const cl_int native = error(World::native());
  EXPECT_LT(native, 0);
  EXPECT_EQ(error(World::remote()), native);
}

INSTANTIATE_TEST_SUITE_P(Program, WrongCallTest, ::testing::ValuesIn(kPrograms), wrong_call_name);

const WrongCall kKernels[] = {
    {"KernelNoName", CL_INVALID_VALUE, CREATE(clCreateKernel(w.program, nullptr, error))},
    {"KernelUnknownName", CL_INVALID_KERNEL_NAME, CREATE(clCreateKernel(w.program, "nobody", error))},
    {"KernelOfUnbuilt", CL_INVALID_PROGRAM_EXECUTABLE, CREATE(clCreateKernel(w.unbuilt, "add", error))},
    {"KernelOfBroken", CL_INVALID_PROGRAM_EXECUTABLE, CREATE(clCreateKernel(w.broken, "f", error))},
    {"KernelsTooMany", CL_INVALID_VALUE,
     [](World& w) {
       cl_kernel one = nullptr;
       return clCreateKernelsInProgram(w.program, 1, &one, nullptr);
     }},
    {"ArgumentPastEnd", CL_INVALID_ARG_INDEX, CALL(set_arg(w.add, 2, 1))},
    {"ArgumentHugeIndex", CL_INVALID_ARG_INDEX, CALL(set_arg(w.add, ~0u, 1))},
    {"ArgumentNullValue", CL_INVALID_ARG_VALUE, CALL(clSetKernelArg(w.add, 1, sizeof(int), nullptr))},
    {"ArgumentWrongSize", CL_INVALID_ARG_SIZE, CALL(set_arg(w.add, 1, 1.0))},
    {"ArgumentBufferWrongSize", CL_INVALID_ARG_SIZE, CALL(clSetKernelArg(w.add, 0, 4, w.buffer.pointer()))},
    {"ArgumentLocalWithValue", CL_INVALID_ARG_VALUE, CALL(set_arg(w.sum_local, 1, 64))},
    {"ArgumentLocalOfNothing", CL_INVALID_ARG_SIZE, CALL(clSetKernelArg(w.sum_local, 1, 0, nullptr))},
    {"ArgumentNoBuffer", CL_INVALID_MEM_OBJECT, CALL(set_arg(w.add, 0, w.queue.get())),
     "the native driver does not look at the handle"},
    {"KernelInfoUnknown", CL_INVALID_VALUE, CALL(clGetKernelInfo(w.add, 0x7777, 8, w.host.data(), nullptr))},
    {"KernelInfoTooSmall", CL_INVALID_VALUE,
     CALL(clGetKernelInfo(w.add, CL_KERNEL_FUNCTION_NAME, 2, w.host.data(), nullptr))},
    {"WorkGroupInfoUnknown", CL_INVALID_VALUE,
     CALL(clGetKernelWorkGroupInfo(w.add, w.device, 0x7777, 8, w.host.data(), nullptr))},
    {"WorkGroupInfoGlobalSize", CL_INVALID_VALUE,
     CALL(clGetKernelWorkGroupInfo(w.add, w.device, CL_KERNEL_GLOBAL_WORK_SIZE, 24, w.host.data(), nullptr))},
    {"ArgumentInfoPastEnd", CL_INVALID_ARG_INDEX,
     CALL(clGetKernelArgInfo(w.add, 2, CL_KERNEL_ARG_NAME, 100, w.host.data(), nullptr))},
    {"ArgumentInfoUnknown", CL_INVALID_VALUE, CALL(clGetKernelArgInfo(w.add, 0, 0x7777, 100, w.host.data(), nullptr))},
};
INSTANTIATE_TEST_SUITE_P(Kernel, WrongCallTest, ::testing::ValuesIn(kKernels), wrong_call_name);

const WrongCall kRanges[] = {
    {"RangeNoKernel", CL_INVALID_KERNEL, CALL(launch(w, nullptr, 1, 4, 0)), "PoCL crashes"},
    {"RangeNoDimensions", CL_INVALID_WORK_DIMENSION, CALL(launch(w, w.add, 0, 4, 0))},
    {"RangeFourDimensions", CL_INVALID_WORK_DIMENSION, CALL(launch(w, w.add, 4, 4, 0))},
    {"RangeArgumentsMissing", CL_INVALID_KERNEL_ARGS, CALL(launch(w, w.no_arguments_set, 1, 4, 0))},
    {"RangeLocalOf0", CL_INVALID_WORK_GROUP_SIZE,
     [](World& w) {
       const std::size_t global = 4, local = 0;
       return clEnqueueNDRangeKernel(w.queue, w.add, 1, nullptr, &global, &local, 0, nullptr, nullptr);
     },
     "PoCL takes it for no local size"},
    {"RangeNoMultiple", CL_INVALID_WORK_GROUP_SIZE, CALL(launch(w, w.add, 1, 10, 4))},
    {"RangeLocalTooBig", CL_INVALID_WORK_GROUP_SIZE,
     [](World& w) {
       const std::size_t global[3] = {1024, 1024, 1}, local[3] = {1024, 1024, 1};
       return clEnqueueNDRangeKernel(w.queue, w.add, 2, nullptr, global, local, 0, nullptr, nullptr);
     }},
    {"RangeLocalLongerThanTheDeviceTakes", CL_INVALID_WORK_ITEM_SIZE, CALL(launch(w, w.add, 1, 1u << 20, 1u << 20)),
     "PoCL checks the product first"},
    {"RangeOtherThanRequired", CL_INVALID_WORK_GROUP_SIZE, CALL(launch(w, w.by_four, 1, 8, 8))},
    {"RangeRequiredNoMultiple", CL_INVALID_WORK_GROUP_SIZE, CALL(launch(w, w.by_four, 1, 10, 4))},
    {"RangeFewerDimensionsThanRequired", CL_INVALID_WORK_GROUP_SIZE, CALL(launch(w, w.by_four_and_two, 1, 8, 4))},
    {"RangeFewerDimensionsThanRequiredOpen", CL_INVALID_WORK_GROUP_SIZE, CALL(launch(w, w.by_four_and_two, 1, 8, 0))},
    {"RangeAsRequired", CL_SUCCESS, CALL(launch(w, w.by_four, 1, 8, 4))},
    {"RangeAsRequiredOpen", CL_SUCCESS, CALL(launch(w, w.by_four, 1, 8, 0)), "PoCL wants a size"},
    {"RangeOffsetOverflow", CL_INVALID_GLOBAL_OFFSET, CALL(launch(w, w.add, 1, 16, 0, ~std::size_t{0} - 8)),
     "PoCL runs it"},
    {"RangeEmpty", CL_SUCCESS, CALL(launch(w, w.add, 1, 0, 0))},
    {"RangeNoGlobal", CL_SUCCESS,
     CALL(clEnqueueNDRangeKernel(w.queue, w.add, 1, nullptr, nullptr, nullptr, 0, nullptr, nullptr))},
    {"RangeCountWithoutList", CL_INVALID_EVENT_WAIT_LIST, CALL(launch(w, w.add, 1, 4, 0, 0, 1, nullptr)),
     "PoCL crashes"},
    {"RangeForeignEvent", CL_INVALID_CONTEXT, CALL(launch(w, w.add, 1, 4, 0, 0, 1, w.foreign_event.pointer())),
     "PoCL waits for it"},
    {"TaskNoKernel", CL_INVALID_KERNEL, CALL(clEnqueueTask(w.queue, nullptr, 0, nullptr, nullptr)), "PoCL crashes"},
    {"TaskArgumentsMissing", CL_INVALID_KERNEL_ARGS,
     CALL(clEnqueueTask(w.queue, w.no_arguments_set, 0, nullptr, nullptr))},
};
INSTANTIATE_TEST_SUITE_P(Range, WrongCallTest, ::testing::ValuesIn(kRanges), wrong_call_name);

void CL_CALLBACK ignore_event(cl_event, cl_int, void*) {}

const WrongCall kEvents[] = {
    {"WaitForNothing", CL_INVALID_VALUE, CALL((static_cast<void>(w), clWaitForEvents(0, nullptr))),
     "the loader answers"},
    {"WaitForTwoContexts", CL_INVALID_CONTEXT,
     [](World& w) {
       const cl_event events[2] = {w.failed, w.foreign_event};
       return clWaitForEvents(2, events);
     }},
    {"WaitForFailure", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CALL(clWaitForEvents(1, w.failed.pointer()))},
    {"UserStatusPositive", CL_INVALID_VALUE, CALL(clSetUserEventStatus(w.gate, CL_RUNNING))},
    {"UserStatusTwice", CL_INVALID_OPERATION, CALL(clSetUserEventStatus(w.failed, CL_COMPLETE))},
    {"UserStatusOfACommand", CL_INVALID_EVENT,
     [](World& w) {
       Owned<cl_event> marker;
       check(clEnqueueMarkerWithWaitList(w.queue, 0, nullptr, marker.out()));
       return clSetUserEventStatus(marker, CL_COMPLETE);
     }},
    {"CallbackNull", CL_INVALID_VALUE, CALL(clSetEventCallback(w.failed, CL_COMPLETE, nullptr, nullptr))},
    {"CallbackQueued", CL_INVALID_VALUE, CALL(clSetEventCallback(w.failed, CL_QUEUED, ignore_event, nullptr))},
    {"EventInfoUnknown", CL_INVALID_VALUE, CALL(clGetEventInfo(w.failed, 0x7777, 8, w.host.data(), nullptr))},
    {"EventInfoTooSmall", CL_INVALID_VALUE,
     CALL(clGetEventInfo(w.failed, CL_EVENT_CONTEXT, 4, w.host.data(), nullptr))},
    {"MarkerNull", CL_INVALID_VALUE, CALL(clEnqueueMarker(w.queue, nullptr))},
    {"MarkerCountWithoutList", CL_INVALID_EVENT_WAIT_LIST,
     CALL(clEnqueueMarkerWithWaitList(w.queue, 1, nullptr, nullptr))},
    {"MarkerForeignEvent", CL_INVALID_CONTEXT,
     CALL(clEnqueueMarkerWithWaitList(w.queue, 1, w.foreign_event.pointer(), nullptr))},
    {"BarrierCountWithoutList", CL_INVALID_EVENT_WAIT_LIST,
     CALL(clEnqueueBarrierWithWaitList(w.queue, 1, nullptr, nullptr))},
    {"BarrierForeignEvent", CL_INVALID_CONTEXT,
     CALL(clEnqueueBarrierWithWaitList(w.queue, 1, w.foreign_event.pointer(), nullptr))},
    {"WaitCommandOfNothing", CL_INVALID_VALUE, CALL(clEnqueueWaitForEvents(w.queue, 0, nullptr)),
     "PoCL aborts: it has no such call"},
};
INSTANTIATE_TEST_SUITE_P(Event, WrongCallTest, ::testing::ValuesIn(kEvents), wrong_call_name);

}  // namespace
}  // namespace remotecl::testing
