// Bytes from one device of a daemon to another: here a device and a part of it, which has a context of its own.
#include <random>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

constexpr std::uint32_t kPart = 20;
constexpr std::uint32_t kParts[] = {kPart, kPart + 1, kPart + 2, kPart + 3};

CreateSubDevices one_unit(WireClient& client) {
  static constexpr std::int64_t kByCount[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END,
                                              0};
  return {0, client.id(), Array<std::int64_t>(kByCount, 4), Array<std::uint32_t>(kParts, 4)};
}

std::vector<int> random_numbers(std::size_t count) {
  std::mt19937 random(7);
  std::vector<int> numbers(count);
  for (int& number : numbers) number = static_cast<int>(random());
  return numbers;
}

// With the parameter, the whole device's memory cannot be mapped in place, as that of a GPU.
class DeviceTransferTest : public ::testing::Test, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) server_.driver().device(0)->memory().stage_always();
    client_.send(one_unit(client_));
    if (client_.wait<SubDevices>()->error != CL_SUCCESS) GTEST_SKIP() << "the driver makes no parts of devices";
    whole_ = client_.make_queue();
    part_ = client_.make_queue(0, kPart);
  }
  EventId transfer(ObjectId queue, std::uint32_t source, ObjectId buffer, std::uint64_t offset, std::uint64_t size,
                   std::span<const EventId> waits = {}) {
    const EventId event = client_.id();
    client_.send(EnqueueTransfer{queue, event, buffer, 0, source, offset, size, waits});
    return event;
  }
  // More than a message takes travels as several.
  void fill(ObjectId queue, ObjectId buffer, const std::vector<int>& numbers) {
    constexpr std::size_t kStep = kInlineDataMax / sizeof(int);
    for (std::size_t at = 0; at < numbers.size(); at += kStep) {
      const std::size_t count = std::min(kStep, numbers.size() - at);
      client_.write<int>(queue, buffer, std::span(numbers).subspan(at, count), 0, {}, at * sizeof(int));
    }
    client_.finish(queue);
  }
  std::vector<int> content(ObjectId queue, ObjectId buffer, std::size_t count) {
    const TransferId transfer = client_.id();
    client_.send(EnqueueRead{queue, client_.id(), buffer, 0, count * sizeof(int), transfer, {}});
    std::vector<int> numbers(count);
    client_.receive_bulk_to(transfer, std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }

  server::Server server_{Address{"127.0.0.1", 0}, "0"};
  WireClient client_{server_.address()};
  ObjectId whole_ = 0, part_ = 0;
};

TEST_P(DeviceTransferTest, ThereAndBack) {
  client_.bulk();
  for (const std::size_t count : {std::size_t{20'000}, std::size_t{1} << 20}) {
    const auto numbers = random_numbers(count);
    const ObjectId buffer = client_.make_buffer(count * sizeof(int));
    fill(whole_, buffer, numbers);
    EXPECT_EQ(client_.event_status(transfer(part_, 0, buffer, 0, count * sizeof(int))), CL_COMPLETE);
    EXPECT_EQ(content(part_, buffer, count), numbers);
    fill(whole_, buffer, std::vector<int>(count, 3));
    EXPECT_EQ(client_.event_status(transfer(whole_, kPart, buffer, 0, count * sizeof(int))), CL_COMPLETE);
    EXPECT_EQ(content(whole_, buffer, count), numbers);
  }
}

TEST_P(DeviceTransferTest, OnlyTheRangeThatIsNamed) {
  const ObjectId buffer = client_.make_buffer(64);
  client_.write<int>(whole_, buffer, std::vector<int>(16, 1));
  client_.write<int>(part_, buffer, std::vector<int>(16, 2));
  client_.finish(whole_);
  EXPECT_EQ(client_.event_status(transfer(part_, 0, buffer, 8, 4)), CL_COMPLETE);
  std::vector<int> expected(16, 2);
  expected[2] = 1;
  EXPECT_EQ(client_.read<int>(part_, buffer, 16), expected);
}

// After the event of the other device's command, and before what its own queue does later.
TEST_P(DeviceTransferTest, KeepsItsPlace) {
  const ObjectId buffer = client_.make_buffer(64);
  const EventId gate = client_.id(), written = client_.id();
  client_.write<int>(part_, buffer, std::vector<int>(16, 0));
  client_.add(ExpectEvent{gate});
  client_.write<int>(whole_, buffer, std::vector<int>(16, 5), written, std::span(&gate, 1));
  const EventId event = transfer(part_, 0, buffer, 0, 64, std::span(&written, 1));
  const TransferId read = client_.id();
  client_.send(EnqueueRead{part_, client_.id(), buffer, 0, 4, read, {}});
  client_.ping();
  EXPECT_FALSE(client_.has_ended(event));
  client_.send(SignalEvent{gate, CL_COMPLETE});
  EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
  EXPECT_EQ(client_.read<int>(part_, buffer, 16), std::vector<int>(16, 5));
}

TEST_P(DeviceTransferTest, FailsWithWhatItWaitsFor) {
  const ObjectId buffer = client_.make_buffer(64);
  const EventId gate = client_.id();
  client_.add(ExpectEvent{gate});
  const EventId event = transfer(part_, 0, buffer, 0, 64, std::span(&gate, 1));
  client_.send(SignalEvent{gate, -5});
  EXPECT_EQ(client_.event_status(event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  client_.write<int>(part_, buffer, std::vector<int>(16, 1));
  EXPECT_EQ(client_.read<int>(part_, buffer, 1)[0], 1);
}

TEST_P(DeviceTransferTest, WhatIsNotThereIsAnErrorOfTheCommand) {
  const ObjectId buffer = client_.make_buffer(64);
  EXPECT_EQ(client_.event_status(transfer(part_, 0, 777, 0, 64)), CL_INVALID_MEM_OBJECT);
  EXPECT_EQ(client_.event_status(transfer(part_, 0, buffer, 1, 64)), CL_INVALID_VALUE);
  EXPECT_EQ(client_.event_status(transfer(part_, 0, buffer, ~std::uint64_t{0}, 2)), CL_INVALID_VALUE);
  EXPECT_EQ(client_.event_status(transfer(part_, 0, buffer, 0, 0)), CL_INVALID_VALUE);
}

TEST_P(DeviceTransferTest, UnknownDeviceEndsTheSession) {
  transfer(part_, 4711, client_.make_buffer(64), 0, 64);
  EXPECT_FALSE(std::string(client_.wait<SessionError>()->text).empty());
}

TEST_P(DeviceTransferTest, ManyAtOnceAndTheirBuffersReleased) {
  std::vector<EventId> events;
  for (int i = 0; i < 200; ++i) {
    const ObjectId buffer = client_.make_buffer(1u << 18);
    const int value = i;
    client_.add(EnqueueFill{whole_, 0, buffer, 0, 1u << 18, std::as_bytes(std::span(&value, 1)), {}});
    events.push_back(transfer(part_, 0, buffer, 0, 1u << 18));
    client_.add(ReleaseBuffer{buffer});
  }
  client_.flush();
  for (const EventId event : events) EXPECT_EQ(client_.event_status(event), CL_COMPLETE);
}

TEST_P(DeviceTransferTest, SessionMayEndInTheMiddle) {
  {
    WireClient leaving(server_.address());
    leaving.send(one_unit(leaving));
    leaving.wait<SubDevices>();
    const ObjectId queue = leaving.make_queue(0, kPart);
    for (int i = 0; i < 20; ++i) {
      leaving.send(EnqueueTransfer{queue, leaving.id(), leaving.make_buffer(8u << 20), 0, 0, 0, 8u << 20, {}});
    }
  }
  const ObjectId buffer = client_.make_buffer(64);
  EXPECT_EQ(client_.event_status(transfer(part_, 0, buffer, 0, 64)), CL_COMPLETE);
}

TEST_P(DeviceTransferTest, PartMayGoBeforeTheThreadsThatReadFromIt) {
  {
    WireClient leaving(server_.address());
    leaving.send(one_unit(leaving));
    leaving.wait<SubDevices>();
    const ObjectId whole = leaving.make_queue();
    const ObjectId buffer = leaving.make_buffer(1u << 20);
    const EventId event = leaving.id();
    leaving.send(EnqueueTransfer{whole, event, buffer, 0, kPart, 0, 1u << 20, {}});
    EXPECT_EQ(leaving.event_status(event), CL_COMPLETE);
    leaving.add(ReleaseBuffer{buffer});
    leaving.send(ReleaseSubDevice{kPart});
    // What the driver has freed is used again.
    for (int i = 0; i < 20; ++i) {
      leaving.send(one_unit(leaving));
      leaving.wait<SubDevices>();
      leaving.send(ReleaseSubDevice{kPart});
    }
  }
  const ObjectId buffer = client_.make_buffer(64);
  EXPECT_EQ(client_.event_status(transfer(part_, 0, buffer, 0, 64)), CL_COMPLETE);
}

INSTANTIATE_TEST_SUITE_P(Routes, DeviceTransferTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Staged" : "InPlace"; });

}  // namespace
}  // namespace remotecl::testing
