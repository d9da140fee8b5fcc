// Command buffers as a client sends them, a malicious one too.
#include <CL/cl_ext.h>

#include <deque>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class CommandBufferTest : public CommandTest {
 protected:
  template <class Message>
  void record(Message message) {
    message.event = records_.size() + 1;
    auto& bytes = kept_.emplace_back(wire::encoded_size(message));
    std::byte* at = bytes.data();
    wire::encode(at, message);
    records_.push_back({Message::kCode, bytes});
  }
  void record_add(const int& value, std::span<const EventId> waits = {}) {
    const KernelArgument arguments[] = {memory_argument(0, buffer_), value_argument(1, value)};
    record(EnqueueKernel{
        0, 0, add_, 1, 0, {0, 0, 0}, {16, 1, 1}, {1, 1, 1}, std::span<const KernelArgument>(arguments), waits});
  }
  ObjectId create(std::uint32_t device = 0) {
    const ObjectId commands = client_.id();
    client_.send(CreateCommandBuffer{commands, device, std::span<const RecordedCommand>(records_)});
    return commands;
  }
  cl_int replay_status(ObjectId commands, ObjectId queue = 0) {
    const EventId event = client_.id();
    client_.add(EnqueueCommandBuffer{queue != 0 ? queue : queue_, event, commands, {}});
    client_.send(ObserveEvent{event});
    return client_.event_status(event);
  }
  bool is_pending(ObjectId commands) {
    const Token token = client_.id();
    client_.send(QueryCommandBuffer{commands, token});
    return client_.wait<CommandBufferState>([token](const auto& state) { return state.token == token; })->is_pending !=
           0;
  }
  void expect_refused(const std::string& words) {
    create();
    expect_session_error(client_, words);
  }

  std::deque<std::vector<std::byte>> kept_;
  std::vector<RecordedCommand> records_;
  const int one_ = 1, ten_ = 10;
};

TEST_F(CommandBufferTest, ReplaysWhatWasRecorded) {
  record_add(one_);
  record_add(ten_);
  const ObjectId commands = create();
  for (int i = 0; i < 3; ++i) client_.add(EnqueueCommandBuffer{queue_, 0, commands, {}});
  EXPECT_EQ(client_.read<int>(queue_, buffer_, 16), std::vector<int>(16, 33));
}

TEST_F(CommandBufferTest, OfManyCommands) {
  const std::string seven(1, '\7');
  for (std::uint64_t i = 0; i < 256; ++i) {
    record(EnqueueFill{0, 0, buffer_, i % 16 * 4, 4, as_bytes(seven), {}});
  }
  const ObjectId commands = create();
  for (const int order : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}) {
    const ObjectId queue = client_.make_queue(order);
    client_.add(EnqueueFill{queue_, 0, buffer_, 0, 64, as_bytes(std::string(1, '\0')), {}});
    client_.read<int>(queue_, buffer_, 16);
    EXPECT_EQ(replay_status(commands, queue), CL_COMPLETE);
    EXPECT_EQ(client_.read<int>(queue, buffer_, 16), std::vector<int>(16, 0x07070707));
  }
}

TEST_F(CommandBufferTest, OutlivesWhatItNames) {
  record_add(one_);
  const ObjectId commands = create();
  const ObjectId copy = client_.make_buffer(64);
  records_.clear();
  record(EnqueueCopy{0, 0, buffer_, copy, 0, 0, 64, {}});
  const ObjectId copying = create();
  client_.add(ReleaseBuffer{buffer_});
  client_.add(ReleaseKernel{add_});
  client_.add(ReleaseProgram{program_});
  EXPECT_EQ(replay_status(commands), CL_COMPLETE);
  EXPECT_EQ(replay_status(copying), CL_COMPLETE);
  EXPECT_EQ(client_.read<int>(queue_, copy, 16), std::vector<int>(16, 1));
}

TEST_F(CommandBufferTest, SaysWhetherItIsPending) {
  record_add(one_);
  const ObjectId commands = create();
  EXPECT_FALSE(is_pending(commands));
  EXPECT_FALSE(is_pending(4711));
  const EventId gate = client_.id(), failing = client_.id();
  client_.add(ExpectEvent{gate});
  client_.add(ExpectEvent{failing});
  client_.add(EnqueueCommandBuffer{queue_, 0, commands, std::span<const EventId>(&gate, 1)});
  client_.add(EnqueueCommandBuffer{queue_, 0, commands, std::span<const EventId>(&failing, 1)});
  EXPECT_TRUE(is_pending(commands));
  client_.add(SignalEvent{gate, 0});
  EXPECT_TRUE(is_pending(commands));
  client_.add(SignalEvent{failing, -1});
  client_.finish(queue_);
  EXPECT_FALSE(is_pending(commands));
}

TEST_F(CommandBufferTest, ReleasedWhileItWaits) {
  record_add(one_);
  const ObjectId commands = create();
  const EventId gate = client_.id();
  client_.add(ExpectEvent{gate});
  client_.add(EnqueueCommandBuffer{queue_, 0, commands, std::span<const EventId>(&gate, 1)});
  client_.add(ReleaseCommandBuffer{commands});
  client_.add(SignalEvent{gate, 0});
  EXPECT_EQ(client_.read<int>(queue_, buffer_, 16), std::vector<int>(16, 1));
  EXPECT_EQ(replay_status(commands), CL_INVALID_COMMAND_BUFFER_KHR);
}

TEST_F(CommandBufferTest, WrongCommandsAreErrorsOfTheReplay) {
  const std::pair<cl_int, std::function<void()>> wrongs[] = {
      {CL_INVALID_KERNEL,
       [&] {
         record(EnqueueKernel{0, 0, 777, 1, 0, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {}, {}});
       }},
      {CL_INVALID_WORK_DIMENSION,
       [&] {
         record(EnqueueKernel{0, 0, add_, 4, 0, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {}, {}});
       }},
      {CL_INVALID_MEM_OBJECT,
       [&] {
         record(EnqueueCopy{0, 0, buffer_, 777, 0, 0, 4, {}});
       }},
      {CL_INVALID_VALUE,
       [&] {
         record(EnqueueCopy{0, 0, buffer_, buffer_, 0, ~std::uint64_t{0}, 4, {}});
       }},
      {CL_INVALID_VALUE,
       [&] {
         record(EnqueueFill{0, 0, buffer_, 0, 65, as_bytes("x"), {}});
       }},
      {CL_INVALID_VALUE,
       [&] {
         record(EnqueueFill{0, 0, buffer_, 0, 4, {}, {}});
       }},
      {CL_INVALID_VALUE,
       [&] {
         record(EnqueueFill{0, 0, buffer_, 0, 4, as_bytes(std::string(129, 'x')), {}});
       }},
      {CL_INVALID_VALUE,
       [&] {
         record(EnqueueCopyRect{0, 0, buffer_, buffer_, {0, 0, 0}, {0, 0, 0}, {65, 1, 1}, 0, 0, 0, 0, {}});
       }},
      // Only the driver sees this one, after the command before it has been enqueued.
      {CL_INVALID_KERNEL_ARGS,
       [&] {
         record_add(one_);
         record(EnqueueKernel{0, 0, add_, 1, 0, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {}, {}});
       }},
  };
  const ObjectId out_of_order = client_.make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  for (const auto& [expected, wrong] : wrongs) {
    records_.clear();
    wrong();
    const ObjectId commands = create();
    EXPECT_EQ(replay_status(commands), expected);
    EXPECT_EQ(replay_status(commands, out_of_order), expected);
    EXPECT_FALSE(is_pending(commands));
  }
  EXPECT_EQ(replay_status(4711), CL_INVALID_COMMAND_BUFFER_KHR);
}

TEST_F(CommandBufferTest, UnknownDevice) {
  create(77);
  expect_session_error(client_, "device 77");
}

TEST_F(CommandBufferTest, IdUsedTwice) {
  const ObjectId commands = create();
  client_.send(CreateCommandBuffer{commands, 0, {}});
  expect_session_error(client_, std::to_string(commands));
}

TEST_F(CommandBufferTest, WhatCannotBeRecorded) {
  record(EnqueueRead{0, 0, buffer_, 0, 4, 1, {}});
  expect_refused("cannot be recorded");
}

TEST_F(CommandBufferTest, MalformedCommand) {
  record_add(one_);
  records_.back().message = records_.back().message.first(20);
  expect_refused("malformed");
}

TEST_F(CommandBufferTest, WaitsForItself) {
  const EventId self = 1;
  record_add(one_, std::span<const EventId>(&self, 1));
  expect_refused("does not come before");
}

TEST_F(CommandBufferTest, WaitsForNothing) {
  record_add(one_);
  const EventId nothing = 0;
  record_add(one_, std::span<const EventId>(&nothing, 1));
  expect_refused("does not come before");
}

TEST_F(CommandBufferTest, TooManyCommands) {
  record(EnqueueMarker{0, 0, 0, 0, {}});
  // A session may hold 1 GiB, a recorded command counts as half a KiB.
  records_.resize((std::size_t{1} << 20) * 7 / 4, records_.front());
  const ObjectId too_long = create();
  records_.resize(std::size_t{1} << 20);
  const ObjectId longest = create();
  const ObjectId one_more = create();
  EXPECT_EQ(replay_status(too_long), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(replay_status(one_more), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(replay_status(longest), CL_COMPLETE);
  client_.add(ReleaseCommandBuffer{longest});
  EXPECT_EQ(replay_status(create()), CL_COMPLETE);
}

}  // namespace
}  // namespace remotecl::testing
