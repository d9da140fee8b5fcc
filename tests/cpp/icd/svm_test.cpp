// Shared virtual memory on two servers: equal addresses, and bytes that are where they are used.
#include "icd/svm_fixture.h"

#include <signal.h>

#include <chrono>
#include <future>
#include <set>

namespace remotecl::testing {
namespace {

constexpr std::size_t kBig = 5u << 20;  // travels outside its command

// A row of ints.
Owned<cl_mem> make_image_of(cl_context context, cl_mem buffer, std::size_t width) {
  const cl_image_format format{CL_R, CL_SIGNED_INT32};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  desc.image_width = width;
  desc.buffer = buffer;
  cl_int error = CL_SUCCESS;
  Owned<cl_mem> image(clCreateImage(context, 0, &format, &desc, nullptr, &error));
  check(error);
  return image;
}
// From the second pixel on.
int* map_row(cl_command_queue queue, cl_mem image, std::size_t width) {
  const std::size_t origin[3] = {1, 0, 0}, region[3] = {width - 1, 1, 1};
  std::size_t pitch = 0;
  cl_int error = CL_SUCCESS;
  void* const mapped = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin, region, &pitch,
                                         nullptr, 0, nullptr, nullptr, &error);
  check(error);
  return static_cast<int*>(mapped);
}

TEST_F(SvmTest, DeviceReportsWhatANetworkCanKeep) {
  const auto native = value<cl_device_svm_capabilities>(clGetDeviceInfo, Environment::get().native_device(),
                                                        CL_DEVICE_SVM_CAPABILITIES);
  const auto remote = value<cl_device_svm_capabilities>(clGetDeviceInfo, device(), CL_DEVICE_SVM_CAPABILITIES);
  EXPECT_EQ(remote, native & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
  EXPECT_EQ(clSVMAlloc(context_, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 64, 0), nullptr);
}

TEST_F(SvmTest, AllocationsAreApartAndAligned) {
  std::vector<std::unique_ptr<Shared<char>>> all;
  std::set<std::uintptr_t> begins;
  for (cl_uint alignment = 1; alignment <= 1u << 21; alignment *= 2) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{4097}}) {
      all.push_back(std::make_unique<Shared<char>>(context_, size, alignment));
      const auto at = reinterpret_cast<std::uintptr_t>(all.back()->get());
      EXPECT_EQ(at % alignment, 0u);
      const auto after = begins.insert(at).first;
      EXPECT_TRUE(std::next(after) == begins.end() || *std::next(after) - at >= size);
      EXPECT_TRUE(after == begins.begin() || at - *std::prev(after) >= 4097);
    }
  }
}

// The servers have shown that they have what this process proposes.
TEST_F(SvmTest, LaterAllocationsWaitForNoServer) {
  { const Shared<int> first(context_, 64); }
  Environment::get().daemon(0).signal(SIGSTOP);
  auto later = std::async(std::launch::async, [this] { return std::make_unique<Shared<int>>(context_, 64); });
  const bool is_there = later.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  Environment::get().daemon(0).signal(SIGCONT);
  EXPECT_TRUE(is_there);
  const auto memory = later.get();
  memory->write(queue_, numbers(64));
  check(add(other_, *memory, 1, 64));
  EXPECT_EQ(memory->read(queue_), numbers(64, 1));
}

TEST_F(SvmTest, ListOfTheHostIsWalkedByBothServers) {
  constexpr int kCount = 1000;
  const Owned<cl_program> program = build(context_, kListSource);
  const Owned<cl_kernel> add = make_kernel(program, "add_to_list");
  const Shared<Node> nodes(context_, kCount);
  nodes.map(queue_, CL_MAP_WRITE_INVALIDATE_REGION);
  // Not in the order of the memory, so that only following the pointers reaches them all.
  for (int i = 0; i < kCount; ++i) nodes[i * 7 % kCount] = {i + 1 < kCount ? nodes + (i + 1) * 7 % kCount : nullptr, i};
  nodes.unmap(queue_);
  check(clSetKernelArgSVMPointer(add, 0, nodes));
  check(set_arg(add, 1, 10));
  check(run(queue_, add, 1));
  check(clFinish(queue_));
  check(set_arg(add, 1, 100));
  check(run(other_, add, 1));
  nodes.map(other_, CL_MAP_READ);
  int count = 0;
  for (const Node* node = nodes; node != nullptr; node = node->next) ASSERT_EQ(node->value, 110 + count++);
  EXPECT_EQ(count, kCount);
  nodes.unmap(other_);
}

TEST_F(SvmTest, ListOfOneServerIsWalkedByTheOtherAndTheHost) {
  constexpr int kCount = 50'000;  // more than travels with a command
  const Owned<cl_program> program = build(context_, kListSource);
  const Owned<cl_kernel> make = make_kernel(program, "make_list"), add = make_kernel(program, "add_to_list");
  const Shared<Node> nodes(context_, kCount);
  check(clSetKernelArgSVMPointer(make, 0, nodes));
  check(set_arg(make, 1, kCount));
  Owned<cl_event> made;
  check(run(queue_, make, 1, {}, made.out()));
  check(clSetKernelArgSVMPointer(add, 0, nodes + kCount / 2));  // a pointer into the allocation
  check(set_arg(add, 1, 7));
  check(run(other_, add, 1, {made}));
  nodes.map(other_, CL_MAP_READ);
  int count = 0;
  for (const Node* node = nodes; node != nullptr; node = node->next, ++count) {
    ASSERT_EQ(node->value, count < kCount / 2 ? count : count + 7);
  }
  EXPECT_EQ(count, kCount);
  nodes.unmap(other_);
}

TEST_F(SvmTest, ConstantArgumentDoesNotMakeTheListConstant) {
  const Owned<cl_program> program = build(context_, R"(
typedef struct Node { global struct Node* next; int value; } Node;
kernel void change_second(global const Node* head) { head->next->value = 9; }
)",
                                          "-cl-kernel-arg-info");
  const Owned<cl_kernel> change = make_kernel(program, "change_second");
  const Shared<Node> nodes(context_, 2);
  nodes.write(queue_, {{nodes + 1, 1}, {nullptr, 2}});
  check(clSetKernelArgSVMPointer(change, 0, nodes));
  check(run(other_, change, 1));
  check(clFinish(other_));
  EXPECT_EQ(nodes.read(queue_)[1].value, 9);
}

TEST_F(SvmTest, WrittenOnOneServerReadOnTheOther) {
  for (const std::size_t count : {std::size_t{16}, kBig / sizeof(int)}) {
    const Shared<int> data(context_, count);
    data.write(queue_, std::vector<int>(count, 1));
    for (int round = 1; round <= 4; ++round) {
      check(add(queue_, data, 1, count));
      check(clFinish(queue_));
      check(add(other_, data, 10, count));
      check(clFinish(other_));
      EXPECT_EQ(data.read(round % 2 == 0 ? queue_ : other_), std::vector<int>(count, 1 + 11 * round));
    }
  }
}

TEST_F(SvmTest, MapOfAPartLeavesTheRest) {
  constexpr std::size_t kCount = 1024;
  const Shared<int> data(context_, kCount);
  data.write(queue_, numbers(kCount));
  check(add(queue_, data, 1000, kCount));
  check(
      clEnqueueSVMMap(queue_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, data + 100, 10 * sizeof(int), 0, nullptr, nullptr));
  EXPECT_EQ(data[100], 1100);
  EXPECT_EQ(data[109], 1109);
  for (int i = 100; i < 110; ++i) data[i] = -i;
  check(clEnqueueSVMUnmap(queue_, data + 100, 0, nullptr, nullptr));
  check(add(queue_, data, 1, kCount));
  std::vector<int> expected = numbers(kCount, 1001);
  for (int i = 100; i < 110; ++i) expected[i] = 1 - i;
  EXPECT_EQ(data.read(queue_), expected);
}

TEST_F(SvmTest, UnmapOfWhatIsNotMappedDoesNothing) {
  const Shared<int> data(context_, 16);
  data.write(queue_, numbers(16));
  EXPECT_EQ(clEnqueueSVMUnmap(queue_, data, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(data.read(queue_), numbers(16));
}

TEST_F(SvmTest, KernelFollowsPointersOfItsExecutionInfo) {
  const Owned<cl_program> program = build(context_, R"(
kernel void bump(global int* global* all, int count) { for (int i = 0; i < count; i++) all[i][get_global_id(0)] += 1 + i; }
)",
                                          "-cl-std=CL3.0");
  const Owned<cl_kernel> bump = make_kernel(program, "bump");
  const Shared<int> first(context_, 16), second(context_, 16);
  const Shared<int*> all(context_, 2);
  first.write(queue_, numbers(16));
  second.write(other_, numbers(16, 100));
  all.write(queue_, {first.get(), second.get()});
  check(clSetKernelArgSVMPointer(bump, 0, all));
  check(set_arg(bump, 1, 2));
  void* pointers[] = {first.get(), second.get()};
  check(clSetKernelExecInfo(bump, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof pointers, pointers));
  // Held back: it uses what it was sent with, although the kernel forgets it.
  const Owned<cl_event> gate = make_user_event(context_);
  check(run(queue_, bump, 16, {gate}));
  check(clSetKernelExecInfo(bump, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, nullptr));
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  check(clFinish(queue_));
  EXPECT_EQ(first.read(queue_), numbers(16, 1));
  EXPECT_EQ(second.read(queue_), numbers(16, 102));
  // A clone has what its original had.
  check(clSetKernelExecInfo(bump, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof pointers, pointers));
  cl_int error = CL_SUCCESS;
  const Owned<cl_kernel> clone(clCloneKernel(bump, &error));
  check(error);
  check(run(other_, clone, 16));
  check(clFinish(other_));
  EXPECT_EQ(first.read(queue_), numbers(16, 2));
  EXPECT_EQ(second.read(queue_), numbers(16, 104));
}

TEST_F(SvmTest, BufferOverItIsTheSameMemory) {
  const Shared<int> data(context_, 64);
  data.write(queue_, numbers(64));
  const Owned<cl_mem> buffer = make_buffer(context_, 32 * sizeof(int), CL_MEM_USE_HOST_PTR, data + 3);  // at any offset
  EXPECT_EQ(value<void*>(clGetMemObjectInfo, buffer.get(), CL_MEM_HOST_PTR), data + 3);
  EXPECT_EQ(value<cl_bool>(clGetMemObjectInfo, buffer.get(), CL_MEM_USES_SVM_POINTER), CL_TRUE);
  EXPECT_EQ(value<cl_mem>(clGetMemObjectInfo, buffer.get(), CL_MEM_ASSOCIATED_MEMOBJECT), nullptr);
  EXPECT_EQ(value<std::size_t>(clGetMemObjectInfo, buffer.get(), CL_MEM_OFFSET), 0u);
  const Owned<cl_kernel> kernel_add = kernel("add");
  check(set_arg(kernel_add, 0, buffer));
  check(set_arg(kernel_add, 1, 1000));
  check(run(queue_, kernel_add, 32));
  check(clFinish(queue_));
  check(add(other_, data, 1, 64));  // by its address, on the other server
  check(clFinish(other_));
  std::vector<int> expected = numbers(64, 1);
  for (int i = 3; i < 35; ++i) expected[i] += 1000;
  EXPECT_EQ(read<int>(queue_, buffer, 32), std::vector<int>(expected.begin() + 3, expected.begin() + 35));
  cl_int error = CL_SUCCESS;
  void* mapped =
      clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 4, 4, 0, nullptr, nullptr, &error);
  check(error);
  EXPECT_EQ(mapped, data + 4);
  data[4] = expected[4] = -4;
  check(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
  EXPECT_EQ(data.read(other_), expected);
}

TEST_F(SvmTest, SubBufferOfABufferOverIt) {
  const Shared<int> data(context_, 4096);
  data.write(queue_, numbers(4096));
  const Owned<cl_mem> buffer = make_buffer(context_, 4096 * sizeof(int), CL_MEM_USE_HOST_PTR, data);
  const Owned<cl_mem> part = make_sub_buffer(buffer, 1024 * sizeof(int), 16 * sizeof(int));
  EXPECT_EQ(value<cl_bool>(clGetMemObjectInfo, part.get(), CL_MEM_USES_SVM_POINTER), CL_TRUE);
  EXPECT_EQ(value<void*>(clGetMemObjectInfo, part.get(), CL_MEM_HOST_PTR), data + 1024);
  const int value = 5;
  check(clEnqueueFillBuffer(queue_, part, &value, sizeof value, 0, 16 * sizeof(int), 0, nullptr, nullptr));
  check(clFinish(queue_));
  std::vector<int> expected = numbers(4096);
  std::fill_n(expected.begin() + 1024, 16, 5);
  EXPECT_EQ(data.read(other_), expected);
  EXPECT_EQ(read<int>(other_, part, 16), std::vector<int>(16, 5));
}

TEST_F(SvmTest, ImageOfABufferOverItIsTheSameMemory) {
  const Shared<int> data(context_, 16384);
  data.write(queue_, numbers(16384));
  const Owned<cl_mem> buffer = make_buffer(context_, 8192 * sizeof(int), CL_MEM_USE_HOST_PTR, data + 2048);
  const Owned<cl_mem> part = make_sub_buffer(buffer, 4096 * sizeof(int), 1024 * sizeof(int));
  std::vector<int> expected = numbers(16384);
  for (const auto& [of, first] : {std::pair{buffer.get(), 2048}, std::pair{part.get(), 6144}}) {
    const Owned<cl_mem> image = make_image_of(context_, of, 1024);
    int* const mapped = map_row(queue_, image, 1024);
    EXPECT_EQ(mapped, data + first + 1);
    EXPECT_EQ(*mapped, first + 1);
    *mapped = expected[first + 1] = -first;
    check(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
    const int last = 7;
    const std::size_t origin[3] = {1, 0, 0}, end[3] = {1023, 0, 0}, one[3] = {1, 1, 1}, region[3] = {1023, 1, 1};
    check(clEnqueueWriteImage(queue_, image, CL_TRUE, end, one, 0, 0, &last, 0, nullptr, nullptr));
    expected[first + 1023] = last;
    std::vector<int> pixels(1023);
    check(clEnqueueReadImage(other_, image, CL_TRUE, origin, region, 0, 0, pixels.data(), 0, nullptr, nullptr));
    EXPECT_EQ(pixels, std::vector<int>(expected.begin() + first + 1, expected.begin() + first + 1024));
  }
  EXPECT_EQ(data.read(other_), expected);
}

// Reads into mapped bytes are for the host, whatever they are mapped by.
TEST_F(SvmTest, ReadsIntoWhatABufferOverItHasMapped) {
  const Shared<int> data(context_, 16384);
  const Owned<cl_mem> source = make_buffer(context_, numbers(1024));
  const Owned<cl_mem> buffer = make_buffer(context_, 8192 * sizeof(int), CL_MEM_USE_HOST_PTR, data + 2048);
  const Owned<cl_mem> part = make_sub_buffer(buffer, 4096 * sizeof(int), 1024 * sizeof(int));
  for (const auto& [of, first] : {std::pair{buffer.get(), 2048}, std::pair{part.get(), 6144}}) {
    data.write(queue_, std::vector<int>(16384, -1));
    check(add(queue_, data, 0, 16384));  // now the device alone has the newest bytes
    cl_int error = CL_SUCCESS;
    void* const mapped = clEnqueueMapBuffer(queue_, of, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 8 * sizeof(int),
                                            100 * sizeof(int), 0, nullptr, nullptr, &error);
    check(error);
    ASSERT_EQ(mapped, data + first + 8);
    check(clEnqueueReadBuffer(queue_, source, CL_TRUE, 4, 40, mapped, 0, nullptr, nullptr));
    EXPECT_EQ(data[first + 8], 1);
    EXPECT_EQ(data[first + 17], 10);
    check(clEnqueueMigrateMemObjects(queue_, 1, &of, CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, nullptr));
    check(clFinish(queue_));
    EXPECT_EQ(data[first + 8], 1) << "after the migration of mapped memory";
    check(clEnqueueUnmapMemObject(queue_, of, mapped, 0, nullptr, nullptr));
    std::vector<int> expected(16384, -1);
    for (int i = 0; i < 10; ++i) expected[first + 8 + i] = i + 1;
    EXPECT_EQ(data.read(other_), expected);
  }
}

TEST_F(SvmTest, ReadsIntoWhatAnImageOfABufferOverItHasMapped) {
  const Shared<int> data(context_, 4096);
  data.write(queue_, std::vector<int>(4096, -1));
  const Owned<cl_mem> source = make_buffer(context_, numbers(1024, 7));
  const Owned<cl_mem> buffer = make_buffer(context_, 1024 * sizeof(int), CL_MEM_USE_HOST_PTR, data + 2048);
  const Owned<cl_mem> image = make_image_of(context_, buffer, 1024);
  int* const mapped = map_row(queue_, image, 1024);
  ASSERT_EQ(mapped, data + 2049);
  check(clEnqueueReadBuffer(queue_, source, CL_TRUE, 0, 40, mapped, 0, nullptr, nullptr));
  EXPECT_EQ(data[2049], 7);
  EXPECT_EQ(data[2058], 16);
  check(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
}

TEST_F(SvmTest, MappingEndsWithItsBuffer) {
  const Shared<int> data(context_, 1024);
  data.write(queue_, std::vector<int>(1024, -1));
  const Owned<cl_mem> source = make_buffer(context_, numbers(1024));
  {
    const Owned<cl_mem> buffer = make_buffer(context_, 4096, CL_MEM_USE_HOST_PTR, data);
    cl_int error = CL_SUCCESS;
    clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 0, nullptr, nullptr, &error);
    check(error);
  }
  check(clFinish(queue_));
  check(clEnqueueReadBuffer(queue_, source, CL_TRUE, 0, 4096, data, 0, nullptr, nullptr));
  check(add(queue_, data, 1, 1024));
  EXPECT_EQ(data.read(queue_), numbers(1024, 1));
}

TEST_F(SvmTest, OrdinaryBufferUsesNone) {
  const Owned<cl_mem> buffer = make_buffer(context_, 64);
  EXPECT_EQ(value<cl_bool>(clGetMemObjectInfo, buffer.get(), CL_MEM_USES_SVM_POINTER), CL_FALSE);
}

}  // namespace
}  // namespace remotecl::testing
