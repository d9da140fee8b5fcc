// Calls about shared virtual memory, pipes and native kernels that go wrong.
#include <map>

#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

#define CALL(expression) [](World& w) -> cl_int { return expression; }

constexpr std::size_t kSize = 4096;

// Shared memory of a world's context.
char* svm(World& w) {
  static std::map<World*, void*> all;
  void*& memory = all[&w];
  if (memory == nullptr) memory = clSVMAlloc(w.context, CL_MEM_READ_WRITE, kSize, 0);
  return static_cast<char*>(memory);
}

cl_int alloc(World& w, cl_svm_mem_flags flags, std::size_t size, cl_uint alignment = 0) {
  void* const memory = clSVMAlloc(w.context, flags, size, alignment);
  clSVMFree(w.context, memory);
  return memory == nullptr ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

const WrongCall kAllocations[] = {
    {"SvmOfNothing", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_READ_WRITE, 0))},
    {"SvmOfEverything", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_READ_WRITE, ~std::size_t{0}))},
    {"SvmOf2To60", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_READ_WRITE, std::size_t{1} << 60))},
    {"SvmAlignedTo3", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_READ_WRITE, 64, 3))},
    {"SvmReadOnlyAndWriteOnly", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64))},
    {"SvmUnknownFlag", CL_OUT_OF_RESOURCES, CALL(alloc(w, cl_svm_mem_flags{1} << 40, 64)), "PoCL takes any flag"},
    {"SvmHostPointerFlag", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_USE_HOST_PTR, 64)), "PoCL takes any flag"},
    {"SvmFineGrained", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_SVM_FINE_GRAIN_BUFFER, 64)),
     "a local device can share fine-grained memory"},
    {"SvmAtomicsAlone", CL_OUT_OF_RESOURCES, CALL(alloc(w, CL_MEM_SVM_ATOMICS, 64))},
    {"BufferLargerThanItsSvm", CL_INVALID_BUFFER_SIZE, CALL(error_of([&](cl_int* error) {
       return clCreateBuffer(w.context, CL_MEM_USE_HOST_PTR, 2 * kSize, svm(w), error);
     }))},
};
INSTANTIATE_TEST_SUITE_P(SvmAllocation, WrongCallTest, ::testing::ValuesIn(kAllocations), wrong_call_name);

cl_int exec_info(cl_kernel kernel, cl_kernel_exec_info name, std::size_t size, const void* value) {
  return clSetKernelExecInfo(kernel, name, size, value);
}
const cl_bool kTrue = CL_TRUE;

const WrongCall kKernels[] = {
    {"SvmArgumentBeyond", CL_INVALID_ARG_INDEX, CALL(clSetKernelArgSVMPointer(w.add, 2, svm(w)))},
    {"SvmArgumentForAValue", CL_INVALID_ARG_VALUE, CALL(clSetKernelArgSVMPointer(w.add, 1, svm(w))), "PoCL takes it"},
    {"SvmArgumentElsewhere", CL_INVALID_ARG_VALUE, CALL(clSetKernelArgSVMPointer(w.no_arguments_set, 0, w.host.data())),
     "PoCL looks at nothing"},
    {"ExecInfoUnknown", CL_INVALID_VALUE, CALL(exec_info(w.add, 0x7777, sizeof kTrue, &kTrue)),
     "PoCL looks at nothing"},
    {"ExecInfoPointersWithoutList", CL_INVALID_VALUE, CALL(exec_info(w.add, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, nullptr)),
     "PoCL looks at nothing"},
    {"ExecInfoPartOfAPointer", CL_INVALID_VALUE, CALL(exec_info(w.add, CL_KERNEL_EXEC_INFO_SVM_PTRS, 7, w.host.data())),
     "PoCL looks at nothing"},
    {"ExecInfoPointerElsewhere", CL_INVALID_VALUE,
     [](World& w) {
       const void* pointer = w.host.data();
       return exec_info(w.add, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof pointer, &pointer);
     },
     "PoCL looks at nothing"},
    {"ExecInfoSystemPointers", CL_INVALID_OPERATION,
     CALL(exec_info(w.add, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof kTrue, &kTrue)), "PoCL looks at nothing"},
    {"ExecInfoSystemOfAnySize", CL_INVALID_VALUE,
     CALL(exec_info(w.add, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 1, &kTrue)), "PoCL looks at nothing"},
};
INSTANTIATE_TEST_SUITE_P(SvmKernel, WrongCallTest, ::testing::ValuesIn(kKernels), wrong_call_name);

cl_int copy(World& w, void* to, const void* from, std::size_t size, cl_bool blocking = CL_TRUE, cl_uint count = 0,
            const cl_event* list = nullptr) {
  return clEnqueueSVMMemcpy(w.queue, blocking, to, from, size, count, list, nullptr);
}
cl_int fill(World& w, void* to, std::size_t pattern_size, std::size_t size) {
  return clEnqueueSVMMemFill(w.queue, to, w.host.data(), pattern_size, size, 0, nullptr, nullptr);
}
cl_int map(World& w, void* at, std::size_t size, cl_map_flags flags = CL_MAP_READ, cl_uint count = 0,
           const cl_event* list = nullptr) {
  return clEnqueueSVMMap(w.queue, CL_TRUE, flags, at, size, count, list, nullptr);
}
cl_int migrate(World& w, cl_uint count, const void* pointer, std::size_t size, cl_mem_migration_flags flags = 0) {
  return clEnqueueSVMMigrateMem(w.queue, count, pointer == nullptr ? nullptr : &pointer, &size, flags, 0, nullptr,
                                nullptr);
}

const WrongCall kCommands[] = {
    {"SvmCopyToNull", CL_INVALID_VALUE, CALL(copy(w, nullptr, svm(w), 4))},
    {"SvmCopyFromNull", CL_INVALID_VALUE, CALL(copy(w, svm(w), nullptr, 4))},
    {"SvmCopyOverlapping", CL_MEM_COPY_OVERLAP, CALL(copy(w, svm(w) + 4, svm(w), 8))},
    {"SvmCopyOverlappingBackwards", CL_MEM_COPY_OVERLAP, CALL(copy(w, svm(w), svm(w) + 4, 8))},
    {"SvmCopyPastEnd", CL_INVALID_VALUE, CALL(copy(w, svm(w) + kSize - 4, w.host.data(), 8)),
     "PoCL writes past the end"},
    {"SvmCopyForeignEvent", CL_INVALID_CONTEXT,
     CALL(copy(w, svm(w), w.host.data(), 4, CL_TRUE, 1, w.foreign_event.pointer()))},
    {"SvmCopyAfterFailure", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
     CALL(copy(w, svm(w), w.host.data(), 4, CL_TRUE, 1, w.failed.pointer())), "PoCL carries it out"},
    {"SvmCopyListWithoutEvents", CL_INVALID_EVENT_WAIT_LIST,
     CALL(copy(w, svm(w), w.host.data(), 4, CL_TRUE, 1, nullptr))},
    {"SvmFillNull", CL_INVALID_VALUE, CALL(fill(w, nullptr, 4, 4))},
    {"SvmFillWithNothing", CL_INVALID_VALUE, CALL(fill(w, svm(w), 0, 4))},
    {"SvmFillWith3", CL_INVALID_VALUE, CALL(fill(w, svm(w), 3, 6))},
    {"SvmFillWith256", CL_INVALID_VALUE, CALL(fill(w, svm(w), 256, 256))},
    {"SvmFillOddSize", CL_INVALID_VALUE, CALL(fill(w, svm(w), 4, 6))},
    {"SvmFillMisaligned", CL_INVALID_VALUE, CALL(fill(w, svm(w) + 2, 4, 8))},
    {"SvmFillPastEnd", CL_INVALID_VALUE, CALL(fill(w, svm(w), 4, 2 * kSize)), "PoCL writes past the end"},
    {"SvmMapNull", CL_INVALID_VALUE, CALL(map(w, nullptr, 4))},
    {"SvmMapNothing", CL_INVALID_VALUE, CALL(map(w, svm(w), 0))},
    {"SvmMapUnknownFlag", CL_INVALID_VALUE, CALL(map(w, svm(w), 4, 64)), "PoCL takes any flag"},
    {"SvmMapInvalidateAndRead", CL_INVALID_VALUE, CALL(map(w, svm(w), 4, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION)),
     "PoCL takes any flag"},
    {"SvmMapPastEnd", CL_INVALID_VALUE, CALL(map(w, svm(w), 2 * kSize)), "PoCL does not look"},
    {"SvmMapElsewhere", CL_INVALID_VALUE, CALL(map(w, w.host.data(), 4)), "PoCL does not look"},
    {"SvmMapAfterFailure", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
     CALL(map(w, svm(w), 4, CL_MAP_READ, 1, w.failed.pointer())), "PoCL carries it out"},
    {"SvmUnmapNull", CL_INVALID_VALUE, CALL(clEnqueueSVMUnmap(w.queue, nullptr, 0, nullptr, nullptr))},
    {"SvmFreeCountWithoutList", CL_INVALID_VALUE,
     CALL(clEnqueueSVMFree(w.queue, 1, nullptr, nullptr, nullptr, 0, nullptr, nullptr))},
    {"SvmMigrateNothing", CL_INVALID_VALUE, CALL(migrate(w, 0, svm(w), 0))},
    {"SvmMigrateNull", CL_INVALID_VALUE, CALL(migrate(w, 1, nullptr, 0))},
    {"SvmMigratePastEnd", CL_INVALID_VALUE, CALL(migrate(w, 1, svm(w), 2 * kSize)),
     "PoCL looks at the beginning alone"},
    {"SvmMigrateUnknownFlag", CL_INVALID_VALUE, CALL(migrate(w, 1, svm(w), 4, 64))},
};
INSTANTIATE_TEST_SUITE_P(SvmCommand, WrongCallTest, ::testing::ValuesIn(kCommands), wrong_call_name);

void CL_CALLBACK do_nothing(void*) {}
cl_int native(World& w, void(CL_CALLBACK* function)(void*), void* arguments, std::size_t size, cl_uint count,
              const cl_mem* objects, const void** locations) {
  return clEnqueueNativeKernel(w.queue, function, arguments, size, count, objects, locations, 0, nullptr, nullptr);
}

const WrongCall kUnsupported[] = {
    {"NativeKernelWithoutFunction", CL_INVALID_VALUE, CALL(native(w, nullptr, nullptr, 0, 0, nullptr, nullptr))},
    {"NativeKernelSizeWithoutArguments", CL_INVALID_VALUE,
     CALL(native(w, do_nothing, nullptr, 8, 0, nullptr, nullptr))},
    {"NativeKernelArgumentsWithoutSize", CL_INVALID_VALUE,
     CALL(native(w, do_nothing, w.host.data(), 0, 0, nullptr, nullptr))},
    {"NativeKernelObjectsWithoutList", CL_INVALID_VALUE,
     CALL(native(w, do_nothing, w.host.data(), 8, 1, nullptr, nullptr))},
    {"NativeKernel", CL_INVALID_OPERATION, CALL(native(w, do_nothing, nullptr, 0, 0, nullptr, nullptr)),
     "a local device can run it"},
    {"Pipe", CL_INVALID_OPERATION,
     CALL(error_of([&](cl_int* error) { return clCreatePipe(w.context, CL_MEM_READ_WRITE, 4, 4, nullptr, error); }))},
    {"PipeWithoutContext", CL_INVALID_CONTEXT,
     CALL((static_cast<void>(w),
           error_of([&](cl_int* error) { return clCreatePipe(nullptr, CL_MEM_READ_WRITE, 4, 4, nullptr, error); }))),
     "the loader answers"},
    {"PipeInfoOfABuffer", CL_INVALID_MEM_OBJECT,
     CALL(clGetPipeInfo(w.buffer, CL_PIPE_PACKET_SIZE, w.host.size(), w.host.data(), nullptr))},
    {"DefaultQueueOnDevice", CL_INVALID_OPERATION, CALL(clSetDefaultDeviceCommandQueue(w.context, w.device, w.queue))},
};
INSTANTIATE_TEST_SUITE_P(Unsupported, WrongCallTest, ::testing::ValuesIn(kUnsupported), wrong_call_name);

}  // namespace
}  // namespace remotecl::testing
