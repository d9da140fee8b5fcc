// Shared virtual memory as a client asks for it, and addresses that no driver may see.
#include <sys/mman.h>

#include "server/fixture.h"
#include "server/memory/buffer.h"

namespace remotecl::testing {
namespace {

class SvmTest : public CommandTest {
 protected:
  struct AllocateReply {
    std::int32_t error;
    std::uint64_t address;
  };

  // A free place in this process, which is also the server's.
  static std::uint64_t free_address(std::size_t size = 1u << 20) {
    void* const pages = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ::munmap(pages, size);
    return reinterpret_cast<std::uintptr_t>(pages);
  }
  AllocateReply allocate(ObjectId buffer, std::uint64_t address, std::uint64_t size, std::uint64_t alignment = 128,
                         std::vector<std::uint32_t> devices = {0}) {
    const Token token = client_.id();
    client_.send(AllocateSvm{buffer, token, std::span<const std::uint32_t>(devices), CL_MEM_READ_WRITE, size, alignment,
                             address});
    const auto reply = client_.wait<SvmAllocated>([token](const SvmAllocated& m) { return m.token == token; });
    return {reply->error, reply->address};
  }
  void add_at(std::uint64_t address, int value, EventId event, std::span<const EventId> waits = {}) {
    const KernelArgument arguments[] = {{0, ArgumentKind::kSvm, address, {}}, value_argument(1, value)};
    client_.enqueue(queue_, add_, 16, arguments, event, waits);
    client_.flush();
  }
  // What the command ended with.
  std::int32_t outcome(EventId event) {
    client_.send(ObserveEvent{event});
    return client_.event_status(event);
  }
};

TEST_F(SvmTest, LiesWhereTheClientProposes) {
  const std::uint64_t address = free_address();
  const ObjectId memory = client_.id();
  const AllocateReply reply = allocate(memory, address, 4096);
  ASSERT_EQ(reply.error, CL_SUCCESS);
  ASSERT_EQ(reply.address, address);
  // Commands on buffers see what kernels do through the address, and the other way round.
  client_.write<int>(queue_, memory, std::vector<int>(16, 5));
  add_at(address, 2, 1000);
  EXPECT_EQ(outcome(1000), CL_COMPLETE);
  EXPECT_EQ(client_.read<int>(queue_, memory, 16), std::vector<int>(16, 7));
  EXPECT_EQ(*reinterpret_cast<const int*>(address), 7) << "the server's memory is this process's";
}

TEST_F(SvmTest, DriverMayChooseThePlace) {
  server_.driver().devices()[0]->memory().choose_svm_addresses();
  const std::uint64_t address = free_address();
  for (const std::uint64_t alignment : {1, 128, 65536}) {
    const ObjectId memory = client_.id();
    const AllocateReply reply = allocate(memory, address, 5000, alignment);
    ASSERT_EQ(reply.error, CL_SUCCESS);
    EXPECT_NE(reply.address, address);
    EXPECT_EQ(reply.address % std::max<std::uint64_t>(alignment, 4096), 0u) << "whole pages";
    client_.write<int>(queue_, memory, std::vector<int>(1250, 5));
    add_at(reply.address + 64, 2, client_.id() + 1000);
    std::vector<int> expected(1250, 5);
    std::fill_n(expected.begin() + 16, 16, 7);
    EXPECT_EQ(client_.read<int>(queue_, memory, 1250), expected);
    client_.add(ReleaseBuffer{memory});
  }
  EXPECT_NE(allocate(client_.id(), address, 5000, 128, {0, 0}).error, CL_SUCCESS) << "two that choose do not agree";
}

TEST_F(SvmTest, TakenPlaceIsRefused) {
  const std::uint64_t address = free_address();
  ASSERT_EQ(allocate(client_.id(), address, 8192).error, CL_SUCCESS);
  EXPECT_EQ(allocate(client_.id(), address, 8192).error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(allocate(client_.id(), address + 4096, 8192).error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(SvmTest, TakenPlaceThatNobodyAsksAboutFailsCommands) {
  const std::uint64_t address = free_address();
  const std::uint32_t devices[] = {0};
  const ObjectId taken = client_.id(), second = client_.id();
  client_.send(AllocateSvm{taken, 0, {devices, 1}, CL_MEM_READ_WRITE, 8192, 128, address});
  client_.send(AllocateSvm{second, 0, {devices, 1}, CL_MEM_READ_WRITE, 8192, 128, address});
  client_.write<int>(queue_, taken, std::vector<int>(16, 5));
  EXPECT_EQ(client_.read<int>(queue_, taken, 16), std::vector<int>(16, 5));
  const std::vector<int> data(16, 5);
  client_.send(EnqueueWrite{queue_, 1000, second, 0, 64, 0, std::as_bytes(std::span(data)), {}});
  EXPECT_EQ(outcome(1000), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  client_.add(ReleaseBuffer{second});
  EXPECT_EQ(client_.read<int>(queue_, taken, 16), std::vector<int>(16, 5)) << "and the session goes on";
}

TEST_F(SvmTest, NonsenseIsRefused) {
  const std::uint64_t address = free_address();
  const std::uint64_t user_space_end = std::uint64_t{1} << 47;
  EXPECT_NE(allocate(client_.id(), address, 0).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), address, ~std::uint64_t{0}).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), address, 4096, 0).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), address, 4096, 100).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), address, 4096, 128, {}).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), address + 1, 4096).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), 0, 4096).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), user_space_end, 4096).error, CL_SUCCESS);
  EXPECT_NE(allocate(client_.id(), ~std::uint64_t{0} << 12, 8192).error, CL_SUCCESS);
  EXPECT_EQ(allocate(client_.id(), address, 4096).error, CL_SUCCESS) << "and the session goes on";
}

TEST_F(SvmTest, UnknownDeviceEndsTheSession) {
  const std::uint32_t devices[] = {9};
  client_.send(AllocateSvm{client_.id(), client_.id(), {devices, 1}, CL_MEM_READ_WRITE, 4096, 128, free_address()});
  expect_session_error(client_, "device 9");
}

TEST_F(SvmTest, IdInUseEndsTheSession) {
  const std::uint32_t devices[] = {0};
  client_.send(AllocateSvm{buffer_, client_.id(), {devices, 1}, CL_MEM_READ_WRITE, 4096, 128, free_address()});
  expect_session_error(client_, "in use");
}

TEST_F(SvmTest, ForeignAddressNeverReachesTheDriver) {
  static int own_memory[16] = {};  // a kernel could write there
  const auto foreign = reinterpret_cast<std::uintptr_t>(own_memory);
  const std::uint64_t address = free_address();
  const ObjectId memory = client_.id();
  ASSERT_EQ(allocate(memory, address, 4096).error, CL_SUCCESS);
  add_at(foreign, 1, 1000);
  EXPECT_EQ(failure_of(1000), CL_INVALID_ARG_VALUE);
  add_at(address - 1, 1, 1001);
  EXPECT_EQ(failure_of(1001), CL_INVALID_ARG_VALUE);
  add_at(address + 4097, 1, 1002);
  EXPECT_EQ(failure_of(1002), CL_INVALID_ARG_VALUE);
  add_at(0, 1, 1003);
  EXPECT_EQ(failure_of(1003), CL_INVALID_ARG_VALUE);
  WireClient other(ServerTest::address());
  const ObjectId program = other.id();
  other.build(program, kAddSource);
  const ObjectId kernel = other.make_kernel(program, "add"), queue = other.make_queue();
  const int one = 1;
  const KernelArgument arguments[] = {{0, ArgumentKind::kSvm, address, {}}, value_argument(1, one)};
  other.enqueue(queue, kernel, 16, arguments, 1000);
  other.flush();
  const auto failed = other.wait<CommandFailed>();
  EXPECT_EQ(failed->status, CL_INVALID_ARG_VALUE) << "another session's memory";
  EXPECT_EQ(own_memory[0], 0);
  const std::uint64_t pointers[] = {foreign, address};
  client_.add(SetKernelSvm{add_, {pointers, 2}});
  add_at(address, 1, 1004);
  EXPECT_EQ(outcome(1004), CL_COMPLETE);
}

TEST_F(SvmTest, ReleasedAddressIsForeign) {
  const std::uint64_t address = free_address();
  const ObjectId memory = client_.id();
  ASSERT_EQ(allocate(memory, address, 4096).error, CL_SUCCESS);
  add_at(address, 1, 1000);
  EXPECT_EQ(outcome(1000), CL_COMPLETE);
  client_.add(ReleaseBuffer{memory});
  client_.enqueue(queue_, add_, 16, {}, 1001);
  client_.flush();
  EXPECT_EQ(failure_of(1001), CL_INVALID_KERNEL_ARGS);
  EXPECT_TRUE(eventually([&] { return allocate(client_.id(), address, 4096).error == CL_SUCCESS; }))
      << "it is free again";
}

TEST_F(SvmTest, StaysForCommandsThatWait) {
  const std::uint64_t address = free_address();
  const ObjectId memory = client_.id();
  ASSERT_EQ(allocate(memory, address, 4096).error, CL_SUCCESS);
  client_.write<int>(queue_, memory, std::vector<int>(16, 5));
  const EventId gate = 2000;
  client_.add(ExpectEvent{gate});
  const EventId waits[] = {gate};
  add_at(address, 1, 1000, waits);
  client_.add(ReleaseBuffer{memory});
  client_.ping();
  EXPECT_EQ(allocate(client_.id(), address, 4096).error, CL_MEM_OBJECT_ALLOCATION_FAILURE) << "it is still in use";
  client_.add(SignalEvent{gate, CL_COMPLETE});
  EXPECT_EQ(outcome(1000), CL_COMPLETE);
  EXPECT_TRUE(eventually([&] { return allocate(client_.id(), address, 4096).error == CL_SUCCESS; }));
}

// A driver may still write through an object over memory, or write back to it, until the object is released.
TEST_F(SvmTest, DriversObjectIsReleasedBeforeTheMemoryBelowIt) {
  constexpr std::uint64_t kSize = 4096;
  server::Device& device = *server_.driver().device(0);
  const auto used = make_ref<server::Counters>(server::MemoryQuota::counters(1));
  const auto counters =
      make_ref<server::SessionCounters>(make_ref<server::MemoryQuota>(1, used, server::MemoryLimits{}, nullptr));
  Ref<server::SvmMemory> pages;
  ASSERT_EQ(server::SvmMemory::allocate({{&device}, CL_MEM_READ_WRITE, kSize, 128, free_address()}, counters, pages),
            CL_SUCCESS);
  struct Seen {
    void* pages;
    bool released, mapped;
  } seen{pages->data(), false, false};
  auto buffer = make_ref<server::Buffer>(std::move(pages), CL_MEM_READ_WRITE, kSize, counters);
  cl_mem native = nullptr;
  ASSERT_EQ(buffer->native(device, native), CL_SUCCESS);
  const auto look = [](cl_mem, void* data) {
    auto& at = *static_cast<Seen*>(data);
    at = {at.pages, true, ::msync(at.pages, kSize, MS_ASYNC) == 0};  // fails where nothing is mapped
  };
  ASSERT_EQ(clSetMemObjectDestructorCallback(native, look, &seen), CL_SUCCESS);
  buffer = nullptr;
  EXPECT_TRUE(seen.released);
  EXPECT_TRUE(seen.mapped);
}

TEST_F(SvmTest, SessionTakesItsMemoryAlong) {
  std::uint64_t address = 0;
  {
    WireClient other(ServerTest::address());
    const std::uint32_t devices[] = {0};
    // The daemon's own threads may take a place that was free a moment ago.
    cl_int error = CL_OUT_OF_RESOURCES;
    for (int attempt = 0; attempt < 10 && error != CL_SUCCESS; ++attempt) {
      address = free_address();
      other.send(AllocateSvm{other.id(), 77, {devices, 1}, CL_MEM_READ_WRITE, 4096, 128, address});
      error = other.wait<SvmAllocated>()->error;
    }
    ASSERT_EQ(error, CL_SUCCESS);
    EXPECT_NE(allocate(client_.id(), address, 4096).error, CL_SUCCESS);
  }
  EXPECT_TRUE(eventually([&] { return allocate(client_.id(), address, 4096).error == CL_SUCCESS; }));
}

}  // namespace
}  // namespace remotecl::testing
