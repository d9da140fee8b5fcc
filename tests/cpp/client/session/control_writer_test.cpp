#include "runtime/client/session/control_writer.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/protocol/messages.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

// Keeps what is written, as much as there is room for.
class Sink final : public Connection {
 public:
  using Connection::write;

  std::size_t read_some(MutableBytes) override { return 0; }
  std::ptrdiff_t try_read_some(MutableBytes) override { return -1; }
  bool write(iovec* parts, int count) override {
    std::unique_lock lock(mutex_);
    for (int i = 0; i < count; ++i) {
      changed_.wait(lock, [&] { return room_ >= parts[i].iov_len || is_broken_; });
      if (is_broken_) return false;
      room_ -= parts[i].iov_len;
      taken_ += parts[i].iov_len;
    }
    ++writes_;
    changed_.notify_all();
    return true;
  }
  std::ptrdiff_t try_write(Bytes from) override {
    const std::lock_guard lock(mutex_);
    if (is_broken_) return -1;
    const std::size_t count = std::min(room_, from.size());
    room_ -= count;
    taken_ += count;
    ++writes_;
    changed_.notify_all();
    return static_cast<std::ptrdiff_t>(count);
  }
  int wait_handle() const override { return -1; }
  void set_read_timeout(std::chrono::milliseconds) override {}
  void shutdown() override {
    const std::lock_guard lock(mutex_);
    is_broken_ = true;
    changed_.notify_all();
  }

  void set_room(std::size_t room) {
    const std::lock_guard lock(mutex_);
    room_ = room;
    changed_.notify_all();
  }
  std::size_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  int writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }
  // Whether so many bytes come, sooner or later.
  bool takes(std::size_t size) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return taken_ >= size; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t room_ = ~std::size_t{0} >> 1;
  std::size_t taken_ = 0;
  int writes_ = 0;
  bool is_broken_ = false;
};

constexpr Ping kMessage{1};
const std::size_t kSize = kMessageHeaderSize + wire::encoded_size(kMessage);

class ControlWriterTest : public ::testing::Test {
 protected:
  ControlWriterTest() { Submitter::instance().add(writer_); }
  ~ControlWriterTest() override {
    sink_->shutdown();
    Submitter::instance().remove(*writer_);
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

  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
  const std::shared_ptr<ControlWriter> writer_ = std::make_shared<ControlWriter>(sink_);
};

TEST_F(ControlWriterTest, FirstCommandGoesAtOnce) {
  enqueue();
  EXPECT_EQ(sink_->taken(), kSize);
}

TEST_F(ControlWriterTest, LaterOnesGoByThemselves) {
  for (int i = 0; i < 10; ++i) enqueue();
  EXPECT_TRUE(sink_->takes(10 * kSize));
  EXPECT_LT(sink_->writes(), 10);
}

TEST_F(ControlWriterTest, MessagesThatNothingFollowsGoByThemselves) {
  writer_->send(kMessage);
  EXPECT_TRUE(sink_->takes(kSize));
}

TEST_F(ControlWriterTest, AppendedMessagesWaitForACommand) {
  writer_->append(kMessage);
  EXPECT_EQ(sink_->taken(), 0);
  enqueue();
  EXPECT_EQ(sink_->taken(), 2 * kSize);
}

TEST_F(ControlWriterTest, WhoeverWaitsOnAnotherServerSubmits) {
  wait_promptly(20);  // so that commands gather
  enqueue();
  Submitter::instance().submit_all();
  EXPECT_TRUE(sink_->takes(21 * kSize));
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
  EXPECT_TRUE(sink_->takes(21 * kSize));
}

TEST_F(ControlWriterTest, FullSocketIsTriedAgain) {
  sink_->set_room(kSize / 2);
  enqueue();
  enqueue();
  EXPECT_EQ(sink_->taken(), kSize / 2);
  sink_->set_room(10 * kSize);
  EXPECT_TRUE(sink_->takes(2 * kSize));
}

// A writer that the Submitter does not know shows what flush() itself does.
TEST_F(ControlWriterTest, FlushSendsTheRestAndWhatCameSince) {
  const auto sink = std::make_shared<Sink>();
  ControlWriter writer(sink);
  sink->set_room(kSize / 2);
  writer.append(kMessage);
  writer.submit_now();
  for (int i = 0; i < 3; ++i) writer.append(kMessage);
  sink->set_room(10 * kSize);
  writer.flush();
  EXPECT_EQ(sink->taken(), 4 * kSize);
}

TEST_F(ControlWriterTest, FullSocketHoldsUpNobodyButWhoeverSubmitsTooMuch) {
  sink_->set_room(0);
  for (int i = 0; i < 1000; ++i) enqueue();
  std::size_t sent = 1000;
  std::thread flood([&] {
    for (int i = 0; i < 100'000; ++i, ++sent) enqueue();
  });
  const auto other_sink = std::make_shared<Sink>();
  ControlWriter other(other_sink);
  other.append(kMessage);
  other.submit();
  EXPECT_EQ(other_sink->taken(), kSize);
  sink_->set_room(~std::size_t{0} >> 1);
  flood.join();
  writer_->flush();
  EXPECT_TRUE(sink_->takes(sent * kSize));
}

TEST_F(ControlWriterTest, BrokenConnectionIsShutDown) {
  sink_->shutdown();
  enqueue();
  for (int i = 0; i < 100'000; ++i) enqueue();  // must not wait for anything
  writer_->flush();
  EXPECT_EQ(sink_->taken(), 0);
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
  EXPECT_TRUE(sink_->takes(kThreads * kEach * kSize));
  EXPECT_EQ(writer_->messages(), kThreads * kEach);
}

}  // namespace
}  // namespace remotecl
