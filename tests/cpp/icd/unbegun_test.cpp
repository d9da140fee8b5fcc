// A command that never ran leaves the bytes that it was to write as they were, wherever they are: its wait list has
// failed, the driver has refused it, or its server is lost. Three daemons on the fake driver, which does as it is told.
#include <algorithm>

#include "icd/unbegun_fixture.h"

namespace remotecl::testing {
namespace {

TEST_F(UnbegunTest, AnotherServersBytesStayIfTheWaitListFails) {
  for (const Kind& kind : kinds()) {
    for (const bool in_order : {true, false}) {
      const Owned<cl_mem> buffer = make_old(0);
      const Owned<cl_event> gate = make_user_event(context_);
      Owned<cl_event> command;
      const auto& queue = in_order ? queues_[1] : out_of_order_[1];
      check(kind.command(queue, buffer, 1, gate.pointer(), command.out()));
      refuse(gate, command);
      expect(buffer, old_ints(), kind.name + std::string(in_order ? "" : " out of order"));
    }
  }
}

TEST_F(UnbegunTest, TheBytesThatCameFromTheHostStayIfTheFirstCommandFails) {
  for (const Kind& kind : kinds()) {
    for (const cl_mem_flags flags : {CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR}) {
      std::vector<int> ints = old_ints();
      const Owned<cl_mem> buffer = make_buffer(context_, kBytes, CL_MEM_READ_WRITE | flags, ints.data());
      const Owned<cl_event> gate = make_user_event(context_);
      Owned<cl_event> command;
      check(kind.command(queues_[1], buffer, 1, gate.pointer(), command.out()));
      refuse(gate, command);
      expect(buffer, old_ints(), kind.name);
    }
  }
}

TEST_F(UnbegunTest, CommandsBehindItFindTheOldBytesBeforeTheFailureIsKnown) {
  for (const Kind& kind : kinds()) {
    const Owned<cl_mem> buffer = make_old(0);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> command, seen_here, seen_there;
    check(kind.command(queues_[1], buffer, 1, gate.pointer(), command.out()));
    add(queues_[1], buffer, 1);
    std::vector<int> here(kInts), there(kInts);
    check(clEnqueueReadBuffer(queues_[1], buffer, CL_FALSE, 0, kBytes, here.data(), 0, nullptr, seen_here.out()));
    check(clEnqueueReadBuffer(queues_[2], buffer, CL_FALSE, 0, kBytes, there.data(), 0, nullptr, seen_there.out()));
    refuse(gate, command);
    check(clWaitForEvents(1, seen_here.pointer()));
    check(clWaitForEvents(1, seen_there.pointer()));
    EXPECT_TRUE(here == old_ints(2)) << kind.name;
    EXPECT_TRUE(there == old_ints(2)) << kind.name;
    expect(buffer, old_ints(2), kind.name);
  }
}

TEST_F(UnbegunTest, AFailureThatComesAlongAChainOfServersLeavesThem) {
  for (const Kind& kind : kinds()) {
    const Owned<cl_mem> buffer = make_old(0), between = make_old(2, 5);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> first, second, third;
    check(kind.command(queues_[0], between, 1, gate.pointer(), first.out()));
    check(kind.command(queues_[1], buffer, 1, first.pointer(), second.out()));
    check(kind.command(queues_[2], buffer, 1, second.pointer(), third.out()));
    refuse(gate, third);
    expect(buffer, old_ints(), kind.name);
    expect(between, old_ints(5), kind.name);
  }
}

TEST_F(UnbegunTest, WhatRunsTakesEffect) {
  for (const Kind& kind : kinds()) {
    const Owned<cl_mem> buffer = make_old(0), same = make_old(1);
    const Owned<cl_event> gate = make_user_event(context_);
    check(kind.command(queues_[1], buffer, 1, gate.pointer(), nullptr));
    check(kind.command(queues_[1], same, 0, nullptr, nullptr));
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    check(clFinish(queues_[1]));
    expect(buffer, read<int>(queues_[1], same, kInts), kind.name);
  }
}

TEST_F(UnbegunTest, ImagesStay) {
  const std::size_t origin[3] = {}, region[3] = {kWidth, kHeight, 1};
  const std::vector<int> data(kInts, kNew);
  const cl_uint color[4] = {1, 2, 3, 4};
  const Owned<cl_mem> source = make_image(true);
  const Command commands[] = {
      [&](auto queue, auto image, auto count, auto waits, auto event) {
        return clEnqueueFillImage(queue, image, color, origin, region, count, waits, event);
      },
      [&](auto queue, auto image, auto count, auto waits, auto event) {
        return clEnqueueWriteImage(queue, image, CL_FALSE, origin, region, 0, 0, data.data(), count, waits, event);
      },
      [&](auto queue, auto image, auto count, auto waits, auto event) {
        return clEnqueueCopyBufferToImage(queue, source_, image, 0, origin, region, count, waits, event);
      }};
  for (const Command& command : commands) {
    for (const bool from_host : {true, false}) {
      const Owned<cl_mem> image = make_image(true);
      if (!from_host) {
        const std::vector<int> ints = old_ints();
        check(clEnqueueWriteImage(queues_[0], image, CL_TRUE, origin, region, 0, 0, ints.data(), 0, nullptr, nullptr));
      }
      const Owned<cl_event> gate = make_user_event(context_);
      Owned<cl_event> failed;
      check(command(queues_[1], image, 1, gate.pointer(), failed.out()));
      refuse(gate, failed);
      for (const auto& queue : queues_) EXPECT_TRUE(read_image(queue, image) == old_ints()) << from_host;
    }
  }
}

TEST_F(UnbegunTest, AMapThatFailsAndContentThatIsNotGivenUpStay) {
  const Owned<cl_mem> buffer = make_old(0);
  Owned<cl_event> gate = make_user_event(context_), failed;
  cl_int error = CL_SUCCESS;
  void* const mapped = clEnqueueMapBuffer(queues_[1], buffer, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 0, kBytes, 1,
                                          gate.pointer(), failed.out(), &error);
  check(error);
  refuse(gate, failed);
  expect(buffer, old_ints(), "map");
  check(clEnqueueUnmapMemObject(queues_[1], buffer, mapped, 0, nullptr, nullptr));
  check(clFinish(queues_[1]));

  put(buffer, 0);
  gate = make_user_event(context_);
  check(clEnqueueMigrateMemObjects(queues_[1], 1, buffer.pointer(), CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 1,
                                   gate.pointer(), failed.out()));
  refuse(gate, failed);
  expect(buffer, old_ints(), "migration without content");
}

TEST_F(UnbegunTest, AnUnmapThatFailsLeavesWhatWasThereOrWhatWasWritten) {
  for (const bool in_host_memory : {false, true}) {
    std::vector<int> ints = old_ints();
    const Owned<cl_mem> buffer =
        in_host_memory ? make_buffer(context_, kBytes, CL_MEM_USE_HOST_PTR, ints.data()) : make_old(0);
    cl_int error = CL_SUCCESS;
    auto* const mapped = static_cast<int*>(clEnqueueMapBuffer(
        queues_[1], buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, kBytes, 0, nullptr, nullptr, &error));
    check(error);
    std::fill_n(mapped, kInts, kNew);
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> failed;
    check(clEnqueueUnmapMemObject(queues_[1], buffer, mapped, 1, gate.pointer(), failed.out()));
    refuse(gate, failed);
    for (const auto& queue : queues_) {
      const std::vector<int> seen = read<int>(queue, buffer, kInts);
      EXPECT_TRUE(seen == old_ints() || seen == std::vector<int>(kInts, kNew)) << in_host_memory;
    }
  }
}

TEST_F(UnbegunTest, ContentSizesStay) {
  using Function = cl_int(CL_API_CALL*)(cl_mem, cl_mem);
  const auto set = reinterpret_cast<Function>(
      clGetExtensionFunctionAddressForPlatform(Environment::get().remote_platform(), "clSetContentSizeBufferPoCL"));
  const Owned<cl_mem> buffer = make_old(0), size = make_buffer(context_, 4096);
  check(set(buffer, size));
  const cl_ulong whole = kBytes, nothing = 0;
  check(clEnqueueWriteBuffer(queues_[0], size, CL_TRUE, 0, sizeof whole, &whole, 0, nullptr, nullptr));
  const Owned<cl_event> gate = make_user_event(context_);
  Owned<cl_event> failed;
  check(clEnqueueWriteBuffer(queues_[1], size, CL_FALSE, 0, sizeof nothing, &nothing, 1, gate.pointer(), failed.out()));
  refuse(gate, failed);
  expect(buffer, old_ints(), "what is limited");
  EXPECT_EQ(read<cl_ulong>(queues_[2], size, 1)[0], whole);
}

// The driver does not take the command.

TEST_F(UnbegunTest, OldBytesStayIfTheDriverRefusesTheCommand) {
  for (const Kind& kind : kinds()) {
    for (const bool has_event : {true, false}) {
      const Owned<cl_mem> buffer = make_old(0);
      command_driver(("fail=" + std::string(kind.function) + ":0:-4").c_str());
      Owned<cl_event> failed;
      check(kind.command(queues_[1], buffer, 0, nullptr, has_event ? failed.out() : nullptr));
      const cl_int finished = clFinish(queues_[1]);
      EXPECT_EQ(finished, has_event ? CL_SUCCESS : -4) << kind.name;
      EXPECT_TRUE(!has_event || status(failed) == -4) << kind.name;
      command_driver("");
      expect(buffer, old_ints(), kind.name);
    }
  }
}

TEST_F(UnbegunTest, WhoReadsBehindARefusedCommandFailsOrSeesTheOldBytes) {
  for (const Kind& kind : kinds()) {
    const Owned<cl_mem> buffer = make_old(0), hold = make_old(1);
    command_driver(("fail=" + std::string(kind.function) + ":0:-4").c_str());
    const Owned<cl_event> gate = make_user_event(context_);
    Owned<cl_event> failed;
    // In a queue that waits, so that all are under way before one has failed.
    check(clEnqueueMarkerWithWaitList(queues_[1], 1, gate.pointer(), nullptr));
    check(kind.command(queues_[1], buffer, 0, nullptr, failed.out()));
    std::vector<Owned<cl_event>> reads(3);
    std::vector<std::vector<int>> seen(3, std::vector<int>(kInts));
    for (std::size_t i = 0; i < 3; ++i) {
      check(clEnqueueReadBuffer(queues_[(i + 1) % 3], buffer, CL_FALSE, 0, kBytes, seen[i].data(), 0, nullptr,
                                reads[i].out()));
    }
    check(clSetUserEventStatus(gate, CL_COMPLETE));
    clWaitForEvents(1, failed.pointer());
    for (std::size_t i = 0; i < 3; ++i) {
      clWaitForEvents(1, reads[i].pointer());
      const bool failed_too = status(reads[i]) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
      EXPECT_TRUE(failed_too || (status(reads[i]) == CL_COMPLETE && seen[i] == old_ints())) << kind.name << i;
    }
    EXPECT_EQ(status(failed), -4) << kind.name;
    command_driver("");
    expect(buffer, old_ints(), kind.name);
  }
}

TEST_F(UnbegunTest, OldBytesStayIfOneAfterTheOtherIsRefused) {
  const Owned<cl_mem> buffer = make_old(0);
  command_driver("fail=clEnqueueFillBuffer:0:-4");
  for (int round = 0; round < 3; ++round) {
    for (std::size_t server : {1, 2, 1, 0}) {
      check(clEnqueueFillBuffer(queues_[server], buffer, &kNew, 4, 0, kBytes, 0, nullptr, nullptr));
      if (server == 2) check(clEnqueueFillBuffer(queues_[2], buffer, &kNew, 4, 4096, 65536, 0, nullptr, nullptr));
    }
  }
  for (const auto& queue : queues_) EXPECT_EQ(clFinish(queue), -4);
  command_driver("");
  expect(buffer, old_ints(), "fills");
  // The same with one that runs in between.
  command_driver("fail=clEnqueueFillBuffer:0:-4");
  check(clEnqueueFillBuffer(queues_[1], buffer, &kNew, 4, 0, kBytes, 0, nullptr, nullptr));
  check(clEnqueueCopyBuffer(queues_[2], source_, buffer, 0, 0, kBytes, 0, nullptr, nullptr));
  check(clEnqueueFillBuffer(queues_[0], buffer, &kNew, 4, 0, kBytes / 2, 0, nullptr, nullptr));
  for (std::size_t server : {0, 1}) EXPECT_EQ(clFinish(queues_[server]), -4);
  check(clFinish(queues_[2]));
  command_driver("");
  expect(buffer, std::vector<int>(kInts, kNew), "copy among fills");
}

// A kernel fails while it runs, and the native driver does not begin what waits for it, whatever it says of that.
TEST_F(UnbegunTest, OldBytesStayIfTheDriverFailsItsWaitList) {
  for (const Kind& kind : kinds()) {
    if (std::string(kind.name) == "kernel") continue;
    for (const cl_int says : {-14, -1, -5}) {
      const Owned<cl_mem> buffer = make_old(0), other = make_old(1);
      const Owned<cl_command_queue> next = make_queue(context_, devices_[1]);
      command_driver(("fail=kernel:0:-5,failed-waits=" + std::to_string(says)).c_str());
      const Owned<cl_kernel> fails = make_kernel(program(), "count_mv");
      set_arguments(fails, other, 1);
      Owned<cl_event> kernel, failed;
      check(run(queues_[1], fails, kInts, {}, kernel.out()));
      check(kind.command(next, buffer, 1, kernel.pointer(), failed.out()));
      std::vector<int> seen(kInts);
      Owned<cl_event> behind;
      check(clEnqueueReadBuffer(next, buffer, CL_FALSE, 0, kBytes, seen.data(), 0, nullptr, behind.out()));
      EXPECT_NE(clWaitForEvents(1, failed.pointer()), CL_SUCCESS) << kind.name;
      EXPECT_TRUE(status(failed) == says || status(failed) == -14) << kind.name << says;
      clWaitForEvents(1, behind.pointer());
      EXPECT_TRUE(status(behind) < 0 || seen == old_ints()) << kind.name << says;
      command_driver("");
      clFinish(next);
      expect(buffer, old_ints(), kind.name + std::to_string(says));
    }
  }
}

// The last ones, because each loses a server, beginning with the last one.

TEST_F(UnbegunTest, ZzWhatALostServerHadNotBegunIsAsItWas) {
  const Owned<cl_event> gate = make_user_event(context_);
  std::vector<Owned<cl_mem>> buffers;
  std::vector<Owned<cl_event>> ends;
  const std::vector<Kind> all = kinds();
  for (const Kind& kind : all) {
    buffers.push_back(make_old(0));
    check(kind.command(queues_[2], buffers.back(), 1, gate.pointer(), ends.emplace_back().out()));
    // These cannot begin before, either.
    add(queues_[2], buffers.back(), 1);
    check(kind.command(queues_[2], buffers.back(), 0, nullptr, nullptr));
  }
  check(clFlush(queues_[2]));
  Environment::get().daemon(2).kill();
  for (const auto& end : ends) EXPECT_NE(clWaitForEvents(1, end.pointer()), CL_SUCCESS);
  check(clSetUserEventStatus(gate, CL_COMPLETE));
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t server : {1, 0}) {
      std::vector<int> seen(kInts);
      EXPECT_EQ(clEnqueueReadBuffer(queues_[server], buffers[i], CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr),
                CL_SUCCESS)
          << all[i].name;
      EXPECT_TRUE(seen == old_ints()) << all[i].name;
    }
  }
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_RECONNECT", "0", 0);
  return remotecl::testing::run_with_fake_daemons(3, argc, argv);
}
