// remotecl_enqueue_split: one NDRange on two servers.
#include <algorithm>
#include <set>

#include "icd/fixture.h"
#include "icd/library.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kItems = 1 << 16;

constexpr char kSplitSource[] = R"(
kernel void neighbours(global const int* from, global int* to, int count) {
  const int i = get_global_id(0);
  to[i] = (i > 0 ? from[i - 1] : 0) + from[i] + (i + 1 < count ? from[i + 1] : 0);
}
kernel void rows(global int* matrix, int width, global const int* factors) {
  const int x = get_global_id(0), y = get_global_id(1);
  matrix[y * width + x] = y * factors[x];
}
kernel void piece(global int* out) { out[get_global_id(0)] = get_global_offset(0); }
kernel void group_size(global int* out, int width) {
  out[get_global_id(1) * width + get_global_id(0)] = get_local_size(0) * get_local_size(1);
}
kernel void by_reference(global int* data, global int* sum) { atomic_add(sum, data[get_global_id(0)]); }
)";

class SplitTest : public RemoteTest {
 protected:
  cl_int split(cl_kernel kernel, cl_uint dimension, const std::vector<std::size_t>& global,
               const std::vector<remotecl_slice>& slices, const std::vector<std::size_t>& offset = {},
               const std::vector<std::size_t>& local = {}, cl_event* event = nullptr) {
    const cl_command_queue queues[] = {queue_, other_};
    return split_(2, queues, kernel, dimension, static_cast<cl_uint>(global.size()),
                  offset.empty() ? nullptr : offset.data(), global.data(), local.empty() ? nullptr : local.data(),
                  static_cast<cl_uint>(slices.size()), slices.data(), 0, nullptr, event);
  }
  Owned<cl_kernel> split_kernel(const char* name) {
    if (program_ == nullptr) program_ = build(context_, kSplitSource);
    return make_kernel(program_, name);
  }
  // How many combinations of places hold the newest version of some bytes.
  static std::size_t distinct_holders(cl_mem buffer) {
    const auto residency = library_function<decltype(remotecl_residency_json)>("remotecl_residency_json");
    char* const json = residency(buffer);
    const std::string text = json;
    library_function<decltype(remotecl_free)>("remotecl_free")(json);
    std::set<std::string> holders;
    static const std::string kKey = "\"holders\":[";
    for (std::size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
      holders.insert(text.substr(at, text.find(']', at) - at));
    }
    return holders.size();
  }

  const std::function<decltype(remotecl_enqueue_split)> split_ =
      library_function<decltype(remotecl_enqueue_split)>("remotecl_enqueue_split");

 private:
  Owned<cl_program> program_;
};

TEST_F(SplitTest, EveryItemRunsOnceAndBothServersTakePart) {
  const Owned<cl_mem> data = make_buffer(context_, numbers(kItems));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, data));
  check(set_arg(add, 1, 5));
  Owned<cl_event> end;
  check(split(add, 0, {kItems}, {{0, 0, sizeof(int), 0, 0}}, {}, {}, end.out()));
  check(clWaitForEvents(1, end.pointer()));
  EXPECT_EQ(status(end), CL_COMPLETE);
  EXPECT_EQ(distinct_holders(data), 2u);
  EXPECT_EQ(read<int>(queue_, data, kItems), numbers(kItems, 5));
}

TEST_F(SplitTest, LaterCommandsOfEveryQueueComeAfterIt) {
  const Owned<cl_kernel> add = kernel("add");
  for (const cl_command_queue queue : {queue_.get(), other_.get()}) {
    const Owned<cl_mem> data = make_buffer(context_, numbers(kItems));
    check(set_arg(add, 0, data));
    check(set_arg(add, 1, 1));
    for (int i = 0; i < 10; ++i) check(split(add, 0, {kItems}, {{0, 0, sizeof(int), 0, 0}}));
    EXPECT_EQ(read<int>(queue, data, kItems), numbers(kItems, 10));
  }
}

TEST_F(SplitTest, OnlySlicesAndTheirNeighboursMove) {
  const Owned<cl_mem> from = make_buffer(context_, numbers(kItems));
  const Owned<cl_mem> to = make_buffer(context_, numbers(kItems));
  const Owned<cl_kernel> neighbours = split_kernel("neighbours");
  check(set_arg(neighbours, 0, from));
  check(set_arg(neighbours, 1, to));
  check(set_arg(neighbours, 2, static_cast<int>(kItems)));
  const auto moved = [] { return statistic("bytes_received") + statistic("bytes_sent"); };
  const std::uint64_t before = moved();
  check(split(neighbours, 0, {kItems}, {{0, 0, sizeof(int), 1, 1}, {1, 1, sizeof(int), 0, 0}}));
  check(clFinish(queue_));
  check(clFinish(other_));
  // `from` once in total, and nothing of `to`; the rest is messages and neighbours.
  EXPECT_LT(moved() - before, kItems * sizeof(int) * 3 / 2);
  std::vector<int> expected(kItems);
  for (int i = 0; i < static_cast<int>(kItems); ++i) {
    expected[static_cast<std::size_t>(i)] = (i > 0 ? i - 1 : 0) + i + (i + 1 < static_cast<int>(kItems) ? i + 1 : 0);
  }
  EXPECT_EQ(read<int>(other_, to, kItems), expected);
}

TEST_F(SplitTest, RowsOfAMatrixFromAnOffsetOn) {
  constexpr std::size_t kWidth = 64, kRows = 300, kFirst = 20;
  const Owned<cl_mem> matrix = make_buffer(context_, std::vector<int>(kWidth * kRows, -1));
  const Owned<cl_mem> factors = make_buffer(context_, numbers(kWidth));
  const Owned<cl_kernel> rows = split_kernel("rows");
  check(set_arg(rows, 0, matrix));
  check(set_arg(rows, 1, static_cast<int>(kWidth)));
  check(set_arg(rows, 2, factors));
  check(split(rows, 1, {kWidth, kRows - kFirst}, {{0, 0, kWidth * sizeof(int), 0, 0}}, {0, kFirst}, {8, 4}));
  std::vector<int> expected(kWidth * kRows, -1);
  for (std::size_t y = kFirst; y < kRows; ++y) {
    for (std::size_t x = 0; x < kWidth; ++x) expected[y * kWidth + x] = static_cast<int>(x * y);
  }
  EXPECT_EQ(read<int>(queue_, matrix, kWidth * kRows), expected);
}

TEST_F(SplitTest, SlicesOfASubBufferBeginWhereItDoes) {
  constexpr std::size_t kOrigin = 4096;
  const Owned<cl_mem> whole = make_buffer(context_, numbers(kItems));
  const Owned<cl_mem> part = make_sub_buffer(whole, kOrigin * sizeof(int), (kItems - kOrigin) * sizeof(int));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, part));
  check(set_arg(add, 1, 3));
  check(split(add, 0, {kItems - kOrigin}, {{0, 0, sizeof(int), 0, 0}}));
  std::vector<int> expected = numbers(kItems);
  for (std::size_t i = kOrigin; i < kItems; ++i) expected[i] += 3;
  EXPECT_EQ(read<int>(other_, whole, kItems), expected);
}

TEST_F(SplitTest, NothingIsKnownOfAKernelThatWasBuiltOtherwise) {
  const Owned<cl_mem> out = make_buffer(context_, std::vector<int>(kItems));
  const auto first_piece = [&](cl_kernel piece) {
    check(set_arg(piece, 0, out));
    check(split(piece, 0, {kItems}, {{0, 1, sizeof(int), 0, 0}}));
    const std::vector<int> offsets = read<int>(queue_, out, kItems);
    return std::ranges::count(offsets, 0);
  };
  const Owned<cl_kernel> known = split_kernel("piece");
  first_piece(known);
  first_piece(known);
  const Owned<cl_program> other = build(context_, kSplitSource, "-DOTHER");
  // Of a device whose speed is not known: one work-group.
  EXPECT_EQ(first_piece(make_kernel(other, "piece")), 64);
}

TEST_F(SplitTest, RowsOfAnOddWidthHaveWorkGroups) {
  constexpr std::size_t kWidth = 1921, kRows = 300;
  const Owned<cl_mem> out = make_buffer(context_, std::vector<int>(kWidth * kRows));
  const Owned<cl_kernel> group_size = split_kernel("group_size");
  check(set_arg(group_size, 0, out));
  check(set_arg(group_size, 1, static_cast<int>(kWidth)));
  check(split(group_size, 1, {kWidth, kRows}, {{0, 1, kWidth * sizeof(int), 0, 0}}));
  const std::vector<int> sizes = read<int>(queue_, out, kWidth * kRows);
  // But for the last piece, if it ends within a group.
  EXPECT_GT(std::ranges::count(sizes, 17 * 3), static_cast<std::ptrdiff_t>(sizes.size() / 2));
}

TEST_F(SplitTest, ItsEventHasTheTimesOfAllPieces) {
  const Owned<cl_command_queue> profiled[] = {make_queue(context_, device(0), CL_QUEUE_PROFILING_ENABLE),
                                              make_queue(context_, device(1), CL_QUEUE_PROFILING_ENABLE)};
  const cl_command_queue queues[] = {profiled[0], profiled[1]};
  const auto now = [&] {
    cl_ulong time = 0;
    check(clGetHostTimer(device(0), &time));
    return time;
  };
  constexpr std::size_t kSpinning = 2048;
  const Owned<cl_mem> data = make_buffer(context_, std::vector<int>(kSpinning));
  const Owned<cl_kernel> spin = kernel("spin");
  check(set_arg(spin, 0, data));
  check(set_arg(spin, 1, 50000));
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  // The first launch compiles the kernel.
  check(split_(2, queues, spin, 0, 1, nullptr, &kSpinning, nullptr, 1, &slice, 0, nullptr, nullptr));
  for (const cl_command_queue queue : queues) check(clFinish(queue));
  bool is_most_of_it = false;
  for (int i = 0; i < 10 && !is_most_of_it; ++i) {  // other processes may delay the pieces
    Owned<cl_event> end;
    const cl_ulong before = now();
    check(split_(2, queues, spin, 0, 1, nullptr, &kSpinning, nullptr, 1, &slice, 0, nullptr, end.out()));
    check(clWaitForEvents(1, end.pointer()));
    const cl_ulong half = (now() - before) / 2;
    const auto time = [&](cl_profiling_info name) { return value<cl_ulong>(clGetEventProfilingInfo, end.get(), name); };
    const cl_ulong queued = time(CL_PROFILING_COMMAND_QUEUED), submit = time(CL_PROFILING_COMMAND_SUBMIT),
                   start = time(CL_PROFILING_COMMAND_START), stop = time(CL_PROFILING_COMMAND_END);
    EXPECT_LE(queued, submit);
    EXPECT_LE(submit, start);
    is_most_of_it = start < before + half && stop - start > half;
    EXPECT_EQ(status(end), CL_COMPLETE);
    check(clFinish(profiled[0]));
  }
  EXPECT_TRUE(is_most_of_it);
}

TEST_F(SplitTest, AnEmptyRangeDoesNothing) {
  const Owned<cl_mem> data = make_buffer(context_, numbers(16));
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, data));
  check(set_arg(add, 1, 1));
  Owned<cl_event> end;
  check(split(add, 0, {0}, {{0, 0, sizeof(int), 0, 0}}, {}, {}, end.out()));
  check(clWaitForEvents(1, end.pointer()));
  EXPECT_EQ(read<int>(queue_, data, 16), numbers(16));
}

TEST_F(SplitTest, WhatCannotBeDividedIsRefusedAndChangesNothing) {
  const Owned<cl_mem> data = make_buffer(context_, numbers(kItems));
  const Owned<cl_mem> sum = make_buffer(context_, numbers(1));
  const Owned<cl_kernel> reduce = split_kernel("by_reference");
  check(set_arg(reduce, 0, data));
  check(set_arg(reduce, 1, sum));
  const remotecl_slice slice{0, 0, sizeof(int), 0, 0};
  EXPECT_EQ(split(reduce, 0, {kItems}, {slice}), CL_INVALID_OPERATION);  // writes `sum`, which has no slice

  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, data));
  check(set_arg(add, 1, 1));
  EXPECT_EQ(split(add, 1, {kItems}, {slice}), CL_INVALID_VALUE);
  EXPECT_EQ(split(add, 0, {kItems}, {slice, slice}), CL_INVALID_ARG_INDEX);
  EXPECT_EQ(split(add, 0, {kItems}, {{2, 0, sizeof(int), 0, 0}}), CL_INVALID_ARG_INDEX);
  EXPECT_EQ(split(add, 0, {kItems}, {slice, {1, 0, sizeof(int), 0, 0}}), CL_INVALID_ARG_VALUE);
  EXPECT_EQ(split(add, 0, {kItems}, {{0, 0, 0, 0, 0}}), CL_INVALID_VALUE);
  EXPECT_EQ(split(add, 0, {kItems}, {{0, 0, sizeof(int), 1, 0}}), CL_INVALID_VALUE);
  EXPECT_EQ(split_(0, nullptr, add, 0, 1, nullptr, &kItems, nullptr, 1, &slice, 0, nullptr, nullptr), CL_INVALID_VALUE);
  const Owned<cl_context> stranger = make_context({device(0)});
  const Owned<cl_command_queue> foreign = make_queue(stranger, device(0));
  EXPECT_EQ(split_(1, foreign.pointer(), add, 0, 1, nullptr, &kItems, nullptr, 1, &slice, 0, nullptr, nullptr),
            CL_INVALID_CONTEXT);
  EXPECT_EQ(read<int>(queue_, data, kItems), numbers(kItems));
}

}  // namespace
}  // namespace remotecl::testing
