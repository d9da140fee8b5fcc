#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kHuge = ~std::size_t{0} - 100;
const std::size_t kZero[3] = {0, 0, 0};
const std::size_t kSmall[3] = {8, 4, 2};

cl_int read(World& w, cl_mem buffer, std::size_t offset, std::size_t size, void* to, cl_uint count = 0,
            const cl_event* list = nullptr) {
  return clEnqueueReadBuffer(w.queue, buffer, CL_TRUE, offset, size, to, count, list, nullptr);
}
cl_int write(World& w, cl_mem buffer, std::size_t offset, std::size_t size, const void* from, cl_uint count = 0,
             const cl_event* list = nullptr) {
  return clEnqueueWriteBuffer(w.queue, buffer, CL_TRUE, offset, size, from, count, list, nullptr);
}
cl_int copy(World& w, cl_mem from, cl_mem to, std::size_t from_offset, std::size_t to_offset, std::size_t size) {
  return clEnqueueCopyBuffer(w.queue, from, to, from_offset, to_offset, size, 0, nullptr, nullptr);
}
cl_int fill(World& w, cl_mem buffer, const void* pattern, std::size_t pattern_size, std::size_t offset,
            std::size_t size) {
  return clEnqueueFillBuffer(w.queue, buffer, pattern, pattern_size, offset, size, 0, nullptr, nullptr);
}
cl_int map(World& w, cl_mem buffer, cl_map_flags flags, std::size_t offset, std::size_t size, cl_uint count = 0,
           const cl_event* list = nullptr) {
  return error_of([&](cl_int* error) {
    return clEnqueueMapBuffer(w.queue, buffer, CL_TRUE, flags, offset, size, count, list, nullptr, error);
  });
}
cl_int read_rect(World& w, cl_mem buffer, const std::size_t* origin, const std::size_t* host_origin,
                 const std::size_t* region, std::size_t row, std::size_t slice, std::size_t host_row,
                 std::size_t host_slice, void* to) {
  return clEnqueueReadBufferRect(w.queue, buffer, CL_TRUE, origin, host_origin, region, row, slice, host_row,
                                 host_slice, to, 0, nullptr, nullptr);
}
cl_int write_rect(World& w, cl_mem buffer, const std::size_t* origin, const std::size_t* region, std::size_t row,
                  std::size_t slice, const void* from) {
  return clEnqueueWriteBufferRect(w.queue, buffer, CL_TRUE, origin, kZero, region, row, slice, 0, 0, from, 0, nullptr,
                                  nullptr);
}
cl_int copy_rect(World& w, cl_mem from, cl_mem to, const std::size_t* source, const std::size_t* target,
                 const std::size_t* region, std::size_t row, std::size_t slice, std::size_t to_row,
                 std::size_t to_slice) {
  return clEnqueueCopyBufferRect(w.queue, from, to, source, target, region, row, slice, to_row, to_slice, 0, nullptr,
                                 nullptr);
}

#define CALL(expression) [](World& w) -> cl_int { return expression; }

const WrongCall kReads[] = {
    {"ReadNoQueue", CL_INVALID_COMMAND_QUEUE,
     CALL(clEnqueueReadBuffer(nullptr, w.buffer, CL_TRUE, 0, 4, w.host.data(), 0, nullptr, nullptr)),
     "the loader reads the handle's dispatch table"},
    {"ReadNoBuffer", CL_INVALID_MEM_OBJECT, CALL(read(w, nullptr, 0, 4, w.host.data()))},
    {"ReadForeignBuffer", CL_INVALID_CONTEXT, CALL(read(w, w.foreign, 0, 4, w.host.data()))},
    {"ReadToNull", CL_INVALID_VALUE, CALL(read(w, w.buffer, 0, 4, nullptr))},
    {"ReadPastEnd", CL_INVALID_VALUE, CALL(read(w, w.buffer, 4095, 2, w.host.data()))},
    {"ReadOffsetPastEnd", CL_INVALID_VALUE, CALL(read(w, w.buffer, 4097, 1, w.host.data()))},
    {"ReadOverflow", CL_INVALID_VALUE, CALL(read(w, w.buffer, 200, kHuge, w.host.data()))},
    {"ReadHugeOffset", CL_INVALID_VALUE, CALL(read(w, w.buffer, kHuge, 200, w.host.data()))},
    {"ReadPastEndOfSub", CL_INVALID_VALUE, CALL(read(w, w.sub, 2000, 100, w.host.data()))},
    {"ReadListWithoutCount", CL_INVALID_EVENT_WAIT_LIST,
     CALL(read(w, w.buffer, 0, 4, w.host.data(), 0, w.gate.pointer()))},
    {"ReadCountWithoutList", CL_INVALID_EVENT_WAIT_LIST, CALL(read(w, w.buffer, 0, 4, w.host.data(), 1, nullptr))},
    {"ReadNullEvent", CL_INVALID_EVENT_WAIT_LIST,
     [](World& w) {
       cl_event none = nullptr;
       return read(w, w.buffer, 0, 4, w.host.data(), 1, &none);
     }},
    {"ReadForeignEvent", CL_INVALID_CONTEXT,
     CALL(read(w, w.buffer, 0, 4, w.host.data(), 1, w.foreign_event.pointer()))},
    {"ReadHostNoAccess", CL_INVALID_OPERATION, CALL(read(w, w.host_no_access, 0, 4, w.host.data()))},
    {"ReadHostWriteOnly", CL_INVALID_OPERATION, CALL(read(w, w.host_write_only, 0, 4, w.host.data()))},
    {"ReadAfterFailedEvent", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
     CALL(read(w, w.buffer, 0, 4, w.host.data(), 1, w.failed.pointer())), "PoCL sometimes waits for ever"},
};
INSTANTIATE_TEST_SUITE_P(Read, WrongCallTest, ::testing::ValuesIn(kReads), wrong_call_name);

const WrongCall kWrites[] = {
    {"WriteNoBuffer", CL_INVALID_MEM_OBJECT, CALL(write(w, nullptr, 0, 4, w.host.data()))},
    {"WriteForeignBuffer", CL_INVALID_CONTEXT, CALL(write(w, w.foreign, 0, 4, w.host.data()))},
    {"WriteFromNull", CL_INVALID_VALUE, CALL(write(w, w.buffer, 0, 4, nullptr))},
    {"WritePastEnd", CL_INVALID_VALUE, CALL(write(w, w.buffer, 4000, 97, w.host.data()))},
    {"WriteOverflow", CL_INVALID_VALUE, CALL(write(w, w.buffer, 200, kHuge, w.host.data()))},
    {"WriteCountWithoutList", CL_INVALID_EVENT_WAIT_LIST, CALL(write(w, w.buffer, 0, 4, w.host.data(), 1, nullptr))},
    {"WriteForeignEvent", CL_INVALID_CONTEXT,
     CALL(write(w, w.buffer, 0, 4, w.host.data(), 1, w.foreign_event.pointer()))},
    {"WriteHostNoAccess", CL_INVALID_OPERATION, CALL(write(w, w.host_no_access, 0, 4, w.host.data()))},
    {"WriteHostReadOnly", CL_INVALID_OPERATION, CALL(write(w, w.host_read_only, 0, 4, w.host.data()))},
    {"WriteAfterFailedEvent", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
     CALL(write(w, w.buffer, 0, 4, w.host.data(), 1, w.failed.pointer())), "PoCL sometimes waits for ever"},
};
INSTANTIATE_TEST_SUITE_P(Write, WrongCallTest, ::testing::ValuesIn(kWrites), wrong_call_name);

const WrongCall kCopies[] = {
    {"CopyNoSource", CL_INVALID_MEM_OBJECT, CALL(copy(w, nullptr, w.buffer, 0, 0, 4))},
    {"CopyNoTarget", CL_INVALID_MEM_OBJECT, CALL(copy(w, w.buffer, nullptr, 0, 0, 4))},
    {"CopyForeign", CL_INVALID_CONTEXT, CALL(copy(w, w.buffer, w.foreign, 0, 0, 4))},
    {"CopySourcePastEnd", CL_INVALID_VALUE, CALL(copy(w, w.buffer, w.other, 4000, 0, 97))},
    {"CopyTargetPastEnd", CL_INVALID_VALUE, CALL(copy(w, w.buffer, w.other, 0, 4000, 97))},
    {"CopyOverflow", CL_INVALID_VALUE, CALL(copy(w, w.buffer, w.other, 200, 0, kHuge))},
    {"CopyOverlap", CL_MEM_COPY_OVERLAP, CALL(copy(w, w.buffer, w.buffer, 0, 50, 100))},
    {"CopySame", CL_MEM_COPY_OVERLAP, CALL(copy(w, w.buffer, w.buffer, 0, 0, 100))},
    {"CopyOverlapOfSubs", CL_MEM_COPY_OVERLAP, CALL(copy(w, w.sub, w.sub_overlapping, 1000, 0, 100))},
    {"FillNoBuffer", CL_INVALID_MEM_OBJECT, CALL(fill(w, nullptr, w.host.data(), 4, 0, 4))},
    {"FillForeign", CL_INVALID_CONTEXT, CALL(fill(w, w.foreign, w.host.data(), 4, 0, 4))},
    {"FillNoPattern", CL_INVALID_VALUE, CALL(fill(w, w.buffer, nullptr, 4, 0, 4))},
    {"FillPatternOfNothing", CL_INVALID_VALUE, CALL(fill(w, w.buffer, w.host.data(), 0, 0, 4))},
    {"FillPatternOf3", CL_INVALID_VALUE, CALL(fill(w, w.buffer, w.host.data(), 3, 0, 3))},
    {"FillPatternOf256", CL_INVALID_VALUE, CALL(fill(w, w.buffer, w.host.data(), 256, 0, 256))},
    {"FillOffsetNoMultiple", CL_INVALID_VALUE, CALL(fill(w, w.buffer, w.host.data(), 4, 2, 4))},
    {"FillSizeNoMultiple", CL_INVALID_VALUE, CALL(fill(w, w.buffer, w.host.data(), 4, 0, 6))},
    {"FillPastEnd", CL_INVALID_VALUE, CALL(fill(w, w.buffer, w.host.data(), 4, 4096, 4))},
    {"FillOverflow", CL_INVALID_VALUE, CALL(fill(w, w.buffer, w.host.data(), 4, 200, kHuge / 4 * 4))},
};
INSTANTIATE_TEST_SUITE_P(Copy, WrongCallTest, ::testing::ValuesIn(kCopies), wrong_call_name);

const WrongCall kMaps[] = {
    {"MapNoBuffer", CL_INVALID_MEM_OBJECT, CALL(map(w, nullptr, CL_MAP_READ, 0, 4))},
    {"MapForeign", CL_INVALID_CONTEXT, CALL(map(w, w.foreign, CL_MAP_READ, 0, 4))},
    {"MapNothing", CL_INVALID_VALUE, CALL(map(w, w.buffer, CL_MAP_READ, 0, 0))},
    {"MapPastEnd", CL_INVALID_VALUE, CALL(map(w, w.buffer, CL_MAP_READ, 4095, 2))},
    {"MapOverflow", CL_INVALID_VALUE, CALL(map(w, w.buffer, CL_MAP_READ, 200, kHuge))},
    {"MapInvalidateAndRead", CL_INVALID_VALUE,
     CALL(map(w, w.buffer, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, 4)), "PoCL does not look"},
    {"MapReadHostWriteOnly", CL_INVALID_OPERATION, CALL(map(w, w.host_write_only, CL_MAP_READ, 0, 4))},
    {"MapWriteHostReadOnly", CL_INVALID_OPERATION, CALL(map(w, w.host_read_only, CL_MAP_WRITE, 0, 4))},
    {"MapHostNoAccess", CL_INVALID_OPERATION, CALL(map(w, w.host_no_access, CL_MAP_WRITE, 0, 4))},
    {"MapCountWithoutList", CL_INVALID_EVENT_WAIT_LIST, CALL(map(w, w.buffer, CL_MAP_READ, 0, 4, 1, nullptr))},
    {"MapForeignEvent", CL_INVALID_CONTEXT, CALL(map(w, w.buffer, CL_MAP_READ, 0, 4, 1, w.foreign_event.pointer()))},
    {"MapAfterFailedEvent", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
     CALL(map(w, w.buffer, CL_MAP_READ, 0, 4, 1, w.failed.pointer())), "PoCL sometimes waits for ever"},
    {"UnmapNoBuffer", CL_INVALID_MEM_OBJECT,
     CALL(clEnqueueUnmapMemObject(w.queue, nullptr, w.host.data(), 0, nullptr, nullptr))},
    {"UnmapForeign", CL_INVALID_CONTEXT,
     CALL(clEnqueueUnmapMemObject(w.queue, w.foreign, w.host.data(), 0, nullptr, nullptr))},
    {"UnmapUnknownPointer", CL_INVALID_VALUE,
     CALL(clEnqueueUnmapMemObject(w.queue, w.buffer, w.host.data(), 0, nullptr, nullptr))},
    {"MigrateNothing", CL_INVALID_VALUE, CALL(clEnqueueMigrateMemObjects(w.queue, 0, nullptr, 0, 0, nullptr, nullptr))},
    {"MigrateUnknownFlag", CL_INVALID_VALUE,
     CALL(clEnqueueMigrateMemObjects(w.queue, 1, w.buffer.pointer(), 1u << 9, 0, nullptr, nullptr))},
    {"MigrateForeign", CL_INVALID_CONTEXT,
     CALL(clEnqueueMigrateMemObjects(w.queue, 1, w.foreign.pointer(), 0, 0, nullptr, nullptr))},
    {"MigrateNoBuffer", CL_INVALID_MEM_OBJECT,
     [](World& w) {
       cl_mem none = nullptr;
       return clEnqueueMigrateMemObjects(w.queue, 1, &none, 0, 0, nullptr, nullptr);
     }},
};
INSTANTIATE_TEST_SUITE_P(Map, WrongCallTest, ::testing::ValuesIn(kMaps), wrong_call_name);

const std::size_t kNoWidth[3] = {0, 1, 1}, kNoDepth[3] = {1, 1, 0}, kWide[3] = {4097, 1, 1}, kFar[3] = {4096, 0, 0},
                  kDeep[3] = {8, 4, 1000}, kEnormous[3] = {kHuge, 2, 2}, kAt1[3] = {1, 0, 0}, kAt8[3] = {8, 0, 0};

const WrongCall kRects[] = {
    {"ReadRectNoBuffer", CL_INVALID_MEM_OBJECT,
     CALL(read_rect(w, nullptr, kZero, kZero, kSmall, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectForeign", CL_INVALID_CONTEXT,
     CALL(read_rect(w, w.foreign, kZero, kZero, kSmall, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectToNull", CL_INVALID_VALUE, CALL(read_rect(w, w.buffer, kZero, kZero, kSmall, 0, 0, 0, 0, nullptr))},
    {"ReadRectNoOrigin", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, nullptr, kZero, kSmall, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectNoRegion", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, nullptr, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectNoWidth", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kNoWidth, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectNoDepth", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kNoDepth, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectTooWide", CL_INVALID_VALUE, CALL(read_rect(w, w.buffer, kZero, kZero, kWide, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectTooFar", CL_INVALID_VALUE, CALL(read_rect(w, w.buffer, kFar, kZero, kSmall, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectTooDeep", CL_INVALID_VALUE, CALL(read_rect(w, w.buffer, kZero, kZero, kDeep, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectOverflow", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kEnormous, 0, 0, 0, 0, w.host.data()))},
    {"ReadRectRowPitchTooSmall", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kSmall, 7, 0, 0, 0, w.host.data()))},
    {"ReadRectSlicePitchTooSmall", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kSmall, 8, 24, 0, 0, w.host.data()))},
    {"ReadRectSlicePitchNoMultiple", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kSmall, 8, 33, 0, 0, w.host.data()))},
    {"ReadRectHostRowPitchTooSmall", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kSmall, 0, 0, 7, 0, w.host.data()))},
    {"ReadRectHostSlicePitchTooSmall", CL_INVALID_VALUE,
     CALL(read_rect(w, w.buffer, kZero, kZero, kSmall, 0, 0, 8, 31, w.host.data()))},
    {"ReadRectHostWriteOnly", CL_INVALID_OPERATION,
     CALL(read_rect(w, w.host_write_only, kZero, kZero, kSmall, 0, 0, 0, 0, w.host.data()))},
    {"WriteRectNoBuffer", CL_INVALID_MEM_OBJECT, CALL(write_rect(w, nullptr, kZero, kSmall, 0, 0, w.host.data()))},
    {"WriteRectFromNull", CL_INVALID_VALUE, CALL(write_rect(w, w.buffer, kZero, kSmall, 0, 0, nullptr))},
    {"WriteRectTooFar", CL_INVALID_VALUE, CALL(write_rect(w, w.buffer, kFar, kSmall, 0, 0, w.host.data()))},
    {"WriteRectHostReadOnly", CL_INVALID_OPERATION,
     CALL(write_rect(w, w.host_read_only, kZero, kSmall, 0, 0, w.host.data()))},
    {"CopyRectNoBuffer", CL_INVALID_MEM_OBJECT, CALL(copy_rect(w, w.buffer, nullptr, kZero, kZero, kSmall, 0, 0, 0, 0)),
     "PoCL crashes"},
    {"CopyRectForeign", CL_INVALID_CONTEXT, CALL(copy_rect(w, w.buffer, w.foreign, kZero, kZero, kSmall, 0, 0, 0, 0))},
    {"CopyRectTooFar", CL_INVALID_VALUE, CALL(copy_rect(w, w.buffer, w.other, kZero, kFar, kSmall, 0, 0, 0, 0))},
    {"CopyRectNoWidth", CL_INVALID_VALUE, CALL(copy_rect(w, w.buffer, w.other, kZero, kZero, kNoWidth, 0, 0, 0, 0))},
    {"CopyRectRowPitchTooSmall", CL_INVALID_VALUE,
     CALL(copy_rect(w, w.buffer, w.other, kZero, kZero, kSmall, 0, 0, 7, 0))},
    {"CopyRectOverlap", CL_MEM_COPY_OVERLAP,
     CALL(copy_rect(w, w.buffer, w.buffer, kZero, kAt1, kSmall, 64, 256, 64, 256))},
    {"CopyRectSame", CL_MEM_COPY_OVERLAP,
     CALL(copy_rect(w, w.buffer, w.buffer, kZero, kZero, kSmall, 64, 256, 64, 256))},
    {"CopyRectSideBySide", CL_SUCCESS, CALL(copy_rect(w, w.buffer, w.buffer, kZero, kAt8, kSmall, 64, 256, 64, 256))},
    {"CopyRectOtherPitchInOneBuffer", CL_INVALID_VALUE,
     CALL(copy_rect(w, w.buffer, w.buffer, kZero, kAt8, kSmall, 64, 256, 32, 128))},
};
INSTANTIATE_TEST_SUITE_P(Rect, WrongCallTest, ::testing::ValuesIn(kRects), wrong_call_name);

// Sizes of nothing: not wrong everywhere, but the same everywhere.
const WrongCall kEmpty[] = {
    {"ReadNothing", CL_SUCCESS, CALL(read(w, w.buffer, 0, 0, w.host.data()))},
    {"WriteNothing", CL_SUCCESS, CALL(write(w, w.buffer, 4096, 0, w.host.data()))},
    {"CopyNothing", CL_SUCCESS, CALL(copy(w, w.buffer, w.other, 0, 0, 0)), "an error up to OpenCL 1.2, and in PoCL"},
    {"FillNothing", CL_SUCCESS, CALL(fill(w, w.buffer, w.host.data(), 4, 0, 0))},
};
INSTANTIATE_TEST_SUITE_P(Empty, WrongCallTest, ::testing::ValuesIn(kEmpty), wrong_call_name);

}  // namespace
}  // namespace remotecl::testing
