#include "runtime/client/session/control_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "fakes/wire/fault_connection.h"
#include "runtime/protocol/messages.h"

namespace remotecl {
namespace {

using testing::FaultConnection;

constexpr Ping kMessage{1};
const std::size_t kSize = kMessageHeaderSize + wire::encoded_size(kMessage);

class ControlWriterTest : public ::testing::Test {
 protected:
  ControlWriterTest() { submitter_.add(writer_); }
  ~ControlWriterTest() override {
    sink_->shutdown();
    submitter_.remove(*writer_);
  }

  void enqueue() {
    writer_->append(kMessage);
    writer_->submit();
  }
  // As a program does that waits for each of its commands.
  void wait_promptly(int times) {
    for (int i = 0; i < times; ++i) {
      enqueue();
      writer_->flush();
    }
  }

  Submitter submitter_;
  const std::shared_ptr<FaultConnection> sink_ = std::make_shared<FaultConnection>();
  const std::shared_ptr<ControlWriter> writer_ = std::make_shared<ControlWriter>(sink_, submitter_);
};

TEST_F(ControlWriterTest, FirstCommandGoesAtOnce) {
  enqueue();
  EXPECT_EQ(sink_->written(), kSize);
}

TEST_F(ControlWriterTest, LaterOnesGoByThemselves) {
  for (int i = 0; i < 10; ++i) enqueue();
  EXPECT_TRUE(sink_->comes_to(10 * kSize));
  EXPECT_LT(sink_->writes(), 10);
}

TEST_F(ControlWriterTest, MessagesThatNothingFollowsGoByThemselves) {
  writer_->send(kMessage);
  EXPECT_TRUE(sink_->comes_to(kSize));
}

TEST_F(ControlWriterTest, AppendedMessagesWaitForACommand) {
  writer_->append(kMessage);
  EXPECT_EQ(sink_->written(), 0);
  enqueue();
  EXPECT_EQ(sink_->written(), 2 * kSize);
}

TEST_F(ControlWriterTest, WhoeverWaitsOnAnotherServerSubmits) {
  wait_promptly(20);  // so that commands gather
  enqueue();
  submitter_.submit_all();
  EXPECT_TRUE(sink_->comes_to(21 * kSize));
}

// A wait each time right after a command makes one write of what was two.
TEST_F(ControlWriterTest, PromptWaitsCostOneWrite) {
  wait_promptly(20);
  const int before = sink_->writes();
  for (int i = 0; i < 50; ++i) {
    enqueue();
    writer_->append(kMessage);
    writer_->flush();
  }
  EXPECT_LT(sink_->writes() - before, 100) << "two each";
}

TEST_F(ControlWriterTest, CommandAfterPromptWaitsGoesByItself) {
  wait_promptly(20);
  enqueue();
  EXPECT_TRUE(sink_->comes_to(21 * kSize));
}

TEST_F(ControlWriterTest, FullSocketIsTriedAgain) {
  sink_->set_room(kSize / 2);
  enqueue();
  enqueue();
  EXPECT_EQ(sink_->written(), kSize / 2);
  sink_->set_room(10 * kSize);
  EXPECT_TRUE(sink_->comes_to(2 * kSize));
}

// A writer that the Submitter does not know shows what flush() itself does.
TEST_F(ControlWriterTest, FlushSendsTheRestAndWhatCameSince) {
  const auto sink = std::make_shared<FaultConnection>();
  ControlWriter writer(sink, submitter_);
  sink->set_room(kSize / 2);
  writer.append(kMessage);
  writer.submit_now();
  for (int i = 0; i < 3; ++i) writer.append(kMessage);
  sink->set_room(10 * kSize);
  writer.flush();
  EXPECT_EQ(sink->written(), 4 * kSize);
}

TEST_F(ControlWriterTest, FullSocketHoldsUpNobodyButWhoeverSubmitsTooMuch) {
  sink_->set_room(0);
  for (int i = 0; i < 1000; ++i) enqueue();
  std::size_t sent = 1000;
  std::thread flood([&] {
    for (int i = 0; i < 100'000; ++i, ++sent) enqueue();
  });
  const auto other_sink = std::make_shared<FaultConnection>();
  ControlWriter other(other_sink, submitter_);
  other.append(kMessage);
  other.submit();
  EXPECT_EQ(other_sink->written(), kSize);
  sink_->set_room(FaultConnection::kUnlimited);
  flood.join();
  writer_->flush();
  EXPECT_TRUE(sink_->comes_to(sent * kSize));
}

TEST_F(ControlWriterTest, BrokenConnectionIsShutDown) {
  sink_->shutdown();
  enqueue();
  for (int i = 0; i < 100'000; ++i) enqueue();  // must not wait for anything
  writer_->flush();
  EXPECT_EQ(sink_->written(), 0);
}

// What one thread appends while another one writes is written, too.
TEST_F(ControlWriterTest, ThreadsShareIt) {
  constexpr int kThreads = 4, kEach = 20'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      for (int j = 0; j < kEach; ++j) {
        enqueue();
        if ((j + i) % 64 == 0) writer_->flush();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(sink_->comes_to(kThreads * kEach * kSize));
  EXPECT_EQ(writer_->messages(), kThreads * kEach);
}

// A link that takes anything from one byte to a few messages, late, and now and then has no room.
TEST_F(ControlWriterTest, ShortAndLateWritesLoseAndDoubleNothing) {
  using namespace std::chrono_literals;
  constexpr std::uint64_t kMessages = 300;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto sink = std::make_shared<FaultConnection>(
        FaultConnection::Faults{.room = 3 * kSize, .piece_max = 2 * kSize, .delay_max = 20us, .seed = seed});
    const auto writer = std::make_shared<ControlWriter>(sink, submitter_);
    submitter_.add(writer);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      writer->append(Ping{static_cast<Token>(i)});
      writer->submit();
      if (i % 7 == seed) sink->set_room(2 * kSize + seed);
    }
    sink->set_room(FaultConnection::kUnlimited);
    writer->flush();
    EXPECT_TRUE(sink->comes_to(kMessages * kSize)) << seed;
    submitter_.remove(*writer);
    std::vector<std::byte> got(kMessages * kSize + 1);
    ASSERT_EQ(sink->take(got), kMessages * kSize) << seed;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      Ping message{};
      Decoder decoder(Bytes(got).subspan(i * kSize + kMessageHeaderSize, kSize - kMessageHeaderSize));
      ASSERT_TRUE(decoder.read(message)) << seed;
      ASSERT_EQ(message.token, i) << seed;
    }
  }
}

// The thread that writes takes what the flushing one wants to be sent, and may stop before all of it is.
TEST_F(ControlWriterTest, AFlushSendsWhatAnotherThreadHasTakenAndLeft) {
  using namespace std::chrono_literals;
  const auto sink = std::make_shared<FaultConnection>(FaultConnection::Faults{.piece_max = kSize, .delay_max = 100ms});
  const auto writer = std::make_shared<ControlWriter>(sink, submitter_);
  submitter_.add(writer);
  for (int i = 0; i < 2; ++i) writer->append(kMessage);
  writer->submit_now();  // one of two; the other one is soon on its way in the submitter's thread
  for (int i = 0; i < 3; ++i) writer->append(kMessage);
  std::this_thread::sleep_for(30ms);
  writer->flush();
  EXPECT_EQ(sink->written(), 5 * kSize);
  submitter_.remove(*writer);
}

TEST_F(ControlWriterTest, ABreakInAMessageHoldsUpNobody) {
  for (std::size_t at = 1; at < 2 * kSize; at += 3) {
    const auto sink = std::make_shared<FaultConnection>(FaultConnection::Faults{.breaks_after = at});
    ControlWriter writer(sink, submitter_);
    for (int i = 0; i < 1000; ++i) {
      writer.append(kMessage);
      writer.submit();
    }
    writer.flush();
    EXPECT_EQ(sink->written(), at);
    EXPECT_TRUE(sink->is_broken());
  }
}

}  // namespace
}  // namespace remotecl
