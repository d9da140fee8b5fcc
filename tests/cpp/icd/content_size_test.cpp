// cl_pocl_content_size: what a buffer's content-size buffer says limits every transfer of it. What lies behind the
// content is undefined for a program; here it shows what has moved.
#include <algorithm>
#include <atomic>
#include <thread>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kInts = 1 << 18;  // 1 MiB
constexpr cl_ulong kWhole = kInts * sizeof(int);
constexpr int kOld = 7, kNew = 9;

class ContentSizeTest : public RemoteTest {
 protected:
  Owned<cl_mem> buffer_ = make_buffer(context_, kInts * sizeof(int));
  Owned<cl_mem> size_ = make_buffer(context_, 4096);
  Owned<cl_mem> raw_ = make_buffer(context_, kInts * sizeof(int));

  static void attach(cl_mem buffer, cl_mem size) {
    using Function = cl_int(CL_API_CALL*)(cl_mem, cl_mem);
    const auto set = reinterpret_cast<Function>(
        clGetExtensionFunctionAddressForPlatform(Environment::get().remote_platform(), "clSetContentSizeBufferPoCL"));
    ASSERT_NE(set, nullptr);
    check(set(buffer, size));
  }
  void fill(cl_command_queue queue, int value) {
    check(clEnqueueFillBuffer(queue, buffer_, &value, sizeof value, 0, kInts * sizeof(int), 0, nullptr, nullptr));
    check(clFinish(queue));
  }
  void write_size(cl_command_queue queue, cl_ulong size) {
    check(clEnqueueWriteBuffer(queue, size_, CL_TRUE, 0, sizeof size, &size, 0, nullptr, nullptr));
  }
  void migrate(cl_command_queue queue) {
    check(clEnqueueMigrateMemObjects(queue, 1, buffer_.pointer(), 0, 0, nullptr, nullptr));
    check(clFinish(queue));
  }
  std::size_t new_ones() { return new_ones(other_); }
  // How many ints of that server's memory are new, of a buffer that was old there; and that they are the first.
  std::size_t new_ones(cl_command_queue queue) {
    check(clEnqueueCopyBuffer(queue, buffer_, raw_, 0, 0, kInts * sizeof(int), 0, nullptr, nullptr));
    const std::vector<int> all = read<int>(queue, raw_, kInts);
    const std::size_t count = static_cast<std::size_t>(std::count(all.begin(), all.end(), kNew));
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(all[i], kNew) << i;
    return count;
  }
  // Maps the buffer, and returns how many of its ints are new.
  std::size_t new_ones_in_map(cl_command_queue queue) {
    cl_int error = CL_SUCCESS;
    void* const mapped =
        clEnqueueMapBuffer(queue, buffer_, CL_TRUE, CL_MAP_READ, 0, kWhole, 0, nullptr, nullptr, &error);
    check(error);
    const int* const ints = static_cast<int*>(mapped);
    const auto count = static_cast<std::size_t>(std::count(ints, ints + kInts, kNew));
    check(clEnqueueUnmapMemObject(queue, buffer_, mapped, 0, nullptr, nullptr));
    check(clFinish(queue));
    return count;
  }
  // The second server has old bytes, the first one new ones.
  void make_new() {
    fill(other_, kOld);
    fill(queue_, kNew);
  }
};

TEST_F(ContentSizeTest, WrittenByTheHostBeforeItIsAttached) {
  make_new();
  write_size(queue_, 1000);
  attach(buffer_, size_);
  migrate(other_);
  EXPECT_EQ(new_ones(), 250u);
}

TEST_F(ContentSizeTest, AttachedBeforeEitherIsWritten) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1000);
  migrate(other_);
  EXPECT_EQ(new_ones(), 250u);
}

TEST_F(ContentSizeTest, MoreThanAMessageTakes) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 400'000);
  migrate(other_);
  EXPECT_EQ(new_ones(), 100'000u);
}

TEST_F(ContentSizeTest, WrittenByAKernel) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1);
  const Owned<cl_program> program = build(context_, "kernel void set(global ulong* size) { *size = 12; }");
  const Owned<cl_kernel> set = make_kernel(program, "set");
  check(set_arg(set, 0, size_.get()));
  const std::size_t one = 1;
  check(clEnqueueNDRangeKernel(queue_, set, 1, nullptr, &one, nullptr, 0, nullptr, nullptr));
  check(clFinish(queue_));
  migrate(other_);
  EXPECT_EQ(new_ones(), 3u);
}

TEST_F(ContentSizeTest, WrittenOnTheOtherServer) {
  attach(buffer_, size_);
  make_new();
  write_size(other_, 1000);
  migrate(other_);
  EXPECT_EQ(new_ones(), 250u);
}

// The command after it ends only when the program has seen the result.
TEST_F(ContentSizeTest, WrittenWithTheBytesByOneCommand) {
  attach(buffer_, size_);
  make_new();
  const Owned<cl_program> program =
      build(context_, "kernel void set(global int* data, global ulong* size) { data[1] = 5; *size = 400000; }");
  const Owned<cl_kernel> set = make_kernel(program, "set");
  check(set_arg(set, 0, buffer_));
  check(set_arg(set, 1, size_));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> written, migrated;
  check(run(queue_, set, 1, {}, written.out()));
  check(clEnqueueMarkerWithWaitList(queue_, 1, gate.pointer(), nullptr));
  check(clFlush(queue_));
  check(clEnqueueMigrateMemObjects(other_, 1, buffer_.pointer(), 0, 1, written.pointer(), migrated.out()));
  check(clFlush(other_));
  EXPECT_TRUE(ends(migrated));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clWaitForEvents(1, migrated.pointer()));
  EXPECT_EQ(read<int>(other_, buffer_, 3), (std::vector<int>{kNew, 5, kNew}));
}

TEST_F(ContentSizeTest, LargerThanTheBuffer) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, ~cl_ulong{0});
  migrate(other_);
  EXPECT_EQ(new_ones(), kInts);
}

TEST_F(ContentSizeTest, Nothing) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 0);
  migrate(other_);
  EXPECT_EQ(new_ones(), 0u);
}

TEST_F(ContentSizeTest, NeverWritten) {
  attach(buffer_, size_);
  make_new();
  migrate(other_);
  EXPECT_EQ(new_ones(), kInts);
}

TEST_F(ContentSizeTest, ReleasedFirst) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1000);
  size_.reset();
  migrate(other_);
  EXPECT_EQ(new_ones(), 250u);
}

// More of what is there has become content.
TEST_F(ContentSizeTest, Grows) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1000);
  migrate(other_);
  EXPECT_EQ(new_ones(), 250u);
  write_size(queue_, 4000);
  migrate(other_);
  EXPECT_EQ(new_ones(), 1000u);
}

TEST_F(ContentSizeTest, GrowsAfterALimitedCopyWasOverwritten) {
  attach(buffer_, size_);
  fill(queue_, kOld);
  write_size(queue_, 1000);
  migrate(other_);
  fill(other_, kNew);
  migrate(queue_);
  write_size(queue_, kWhole);
  EXPECT_EQ(new_ones(queue_), kInts);
}

// The rest of the copy is as limited as before.
TEST_F(ContentSizeTest, GrowsAfterPartsOfALimitedCopyWereOverwritten) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1000);
  migrate(other_);
  for (const std::size_t at : {std::size_t{0}, kInts / 2, kInts - 1}) {
    check(clEnqueueFillBuffer(other_, buffer_, &kNew, sizeof kNew, at * sizeof(int), sizeof(int), 0, nullptr, nullptr));
  }
  check(clFinish(other_));
  migrate(queue_);
  write_size(queue_, kWhole);
  EXPECT_EQ(new_ones(queue_), kInts);
  EXPECT_EQ(new_ones(), kInts);
}

TEST_F(ContentSizeTest, GrowsAfterALimitedCopyWasMapped) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1000);
  migrate(other_);
  EXPECT_EQ(new_ones_in_map(other_), 250u);
  write_size(queue_, kWhole);
  EXPECT_EQ(new_ones_in_map(queue_), kInts);
  EXPECT_EQ(new_ones(), kInts);
}

TEST_F(ContentSizeTest, GrowsAfterALimitedCopyWasMigratedToTheHost) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1000);
  migrate(other_);
  check(clEnqueueMigrateMemObjects(other_, 1, buffer_.pointer(), CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, nullptr));
  check(clFinish(other_));
  write_size(queue_, kWhole);
  EXPECT_EQ(new_ones(), kInts);
  EXPECT_EQ(new_ones_in_map(queue_), kInts);
}

TEST_F(ContentSizeTest, AnotherBufferSaysThatThereIsMore) {
  attach(buffer_, size_);
  make_new();
  write_size(queue_, 1000);
  migrate(other_);
  EXPECT_EQ(new_ones(), 250u);
  size_ = make_buffer(context_, 4096);
  write_size(queue_, kWhole);  // as often as the former one
  attach(buffer_, size_);
  EXPECT_EQ(new_ones(), kInts);
}

TEST_F(ContentSizeTest, AttachedAndDetachedByAnotherThread) {
  const auto set = library_function<decltype(remotecl_set_content_size)>("remotecl_set_content_size");
  write_size(queue_, 4000);
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      EXPECT_EQ(set(buffer_, size_), CL_SUCCESS);
      EXPECT_EQ(set(buffer_, nullptr), CL_SUCCESS);
    }
  });
  for (int i = 0; i < 1000; ++i) {
    fill(queue_, i);
    migrate(other_);
  }
  is_over = true;
  other.join();
}

TEST_F(ContentSizeTest, KnownToThisProcess) {
  make_new();
  size_ = make_buffer(context_, std::vector<cl_ulong>{1000});
  attach(buffer_, size_);
  migrate(other_);
  EXPECT_EQ(new_ones(), 250u);
}

TEST_F(ContentSizeTest, LimitsReadsOfTheHost) {
  attach(buffer_, size_);
  fill(queue_, kNew);
  for (const cl_ulong size : {cl_ulong{0}, cl_ulong{1000}, cl_ulong{400'000}, cl_ulong{kInts * sizeof(int)}}) {
    write_size(queue_, size);
    std::vector<int> bytes(kInts, kOld);
    check(clEnqueueReadBuffer(queue_, buffer_, CL_TRUE, 0, kInts * sizeof(int), bytes.data(), 0, nullptr, nullptr));
    EXPECT_EQ(static_cast<cl_ulong>(std::count(bytes.begin(), bytes.end(), kNew)), size / sizeof(int));
  }
}

// Content is counted from the begin of the whole buffer.
TEST_F(ContentSizeTest, LimitsReadsOfPartsAndNonBlockingOnes) {
  attach(buffer_, size_);
  fill(queue_, kNew);
  write_size(queue_, 600'000);
  const std::size_t half = kInts * sizeof(int) / 2;
  const Owned<cl_mem> part = make_sub_buffer(buffer_, half, half);
  std::vector<int> bytes(kInts / 2, kOld);
  Owned<cl_event> read;
  check(clEnqueueReadBuffer(queue_, part, CL_FALSE, 0, half, bytes.data(), 0, nullptr, read.out()));
  check(clWaitForEvents(1, read.pointer()));
  EXPECT_EQ(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), kNew)), (600'000 - half) / sizeof(int));
}

TEST_F(ContentSizeTest, ManyTransfersWithoutAHostWait) {
  attach(buffer_, size_);
  make_new();
  Owned<cl_event> last;
  const std::vector<int> start{0};
  check(clEnqueueWriteBuffer(queue_, buffer_, CL_TRUE, 0, 4, start.data(), 0, nullptr, nullptr));
  write_size(queue_, 4);
  const Owned<cl_kernel> add = kernel("add");
  check(set_arg(add, 0, buffer_.get()));
  check(set_arg(add, 1, 1));
  const std::size_t one = 1;
  constexpr int kRounds = 3000;
  for (int i = 0; i < kRounds; ++i) {
    Owned<cl_event> event;
    check(clEnqueueNDRangeKernel(i % 2 == 0 ? other_ : queue_, add, 1, nullptr, &one, nullptr, last ? 1 : 0,
                                 last ? last.pointer() : nullptr, event.out()));
    last = std::move(event);
  }
  check(clWaitForEvents(1, last.pointer()));
  EXPECT_EQ(read<int>(other_, buffer_, 1), std::vector<int>{kRounds});
}

}  // namespace
}  // namespace remotecl::testing
