// What a stream keeps to send it again, against a string that keeps everything.
#include "runtime/transport/stream/replay_buffer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace remotecl {
namespace {

std::string from(const ReplayBuffer& buffer, std::uint64_t position) {
  std::string text;
  while (position < buffer.end()) {
    const Bytes bytes = buffer.at(position);
    if (bytes.empty()) return "nothing at " + std::to_string(position);
    text += as_text(bytes);
    position += bytes.size();
  }
  return text;
}

TEST(ReplayBufferTest, GivesBackWhatWasAppended) {
  ReplayBuffer buffer;
  EXPECT_TRUE(buffer.at(0).empty());
  buffer.append(as_bytes("one"));
  buffer.append(as_bytes("two"));
  EXPECT_EQ(from(buffer, 0), "onetwo");
  EXPECT_EQ(from(buffer, 2), "etwo");
  buffer.drop_until(4);
  EXPECT_EQ(buffer.begin(), 4u);
  EXPECT_EQ(from(buffer, 4), "wo");
  buffer.drop_until(6);
  EXPECT_EQ(buffer.size(), 0u);
  buffer.append(as_bytes("x"));
  EXPECT_EQ(from(buffer, 6), "x");
}

TEST(ReplayBufferTest, WhatIsBorrowedIsNotCopiedUntilItHasToBe) {
  ReplayBuffer buffer;
  std::string text = "0123456789";
  buffer.append(as_bytes("ab"));
  buffer.borrow(as_bytes(text));
  buffer.append(as_bytes("cd"));
  text[9] = 'x';
  EXPECT_EQ(from(buffer, 0), "ab012345678xcd");
  buffer.drop_until(5);
  AcknowledgedBytes acknowledged;
  buffer.own_borrowed(2, acknowledged);
  text[8] = 'y';
  EXPECT_EQ(from(buffer, 5), "34567yxcd") << "the bytes before it were not borrowed";
  text.replace(8, 2, "89");
  buffer.own_borrowed(12, acknowledged);
  text.assign(10, '-');
  EXPECT_EQ(from(buffer, 5), "3456789cd");
  buffer.drop_until(12);
  EXPECT_EQ(from(buffer, 12), "cd");
}

TEST(ReplayBufferTest, WhatHasBeenAcknowledgedIsNotReadAgain) {
  ReplayBuffer buffer;
  std::string freed = "0123", needed = "4567";
  buffer.borrow(as_bytes(freed));
  buffer.borrow(as_bytes(needed));
  AcknowledgedBytes acknowledged;
  acknowledged.raise_to(4);
  buffer.own_borrowed(8, acknowledged);
  freed.assign(4, '-');
  needed.assign(4, '-');
  EXPECT_EQ(from(buffer, 0), "----4567");
}

TEST(AcknowledgedBytesTest, NobodyCopiesWhatIsAcknowledgedOnceThatIsKnown) {
  AcknowledgedBytes acknowledged;
  std::promise<void> begun, goes_on;
  auto copying = std::async(std::launch::async, [&] {
    acknowledged.unless_reached(4, [&] {
      begun.set_value();
      goes_on.get_future().wait();
    });
  });
  begun.get_future().wait();
  auto known = std::async(std::launch::async, [&] { acknowledged.raise_to(4); });
  EXPECT_EQ(known.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  goes_on.set_value();
  known.wait();
  copying.wait();
  acknowledged.unless_reached(4, [] { ADD_FAILURE() << "copies what is acknowledged"; });
}

TEST(ReplayBufferTest, RandomUseKeepsEveryByte) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
    ReplayBuffer buffer;
    AcknowledgedBytes acknowledged;
    std::string all;
    std::vector<std::unique_ptr<std::string>> borrowed;
    for (int step = 0; step < 400; ++step) {
      std::string piece(below(step % 10 == 0 ? 200'000 : 300), 'a');
      for (char& letter : piece) letter = static_cast<char>('a' + below(26));
      switch (below(5)) {
        case 0:
          borrowed.push_back(std::make_unique<std::string>(piece));
          buffer.borrow(as_bytes(*borrowed.back()));
          all += piece;
          break;
        case 1:
          buffer.drop_until(buffer.begin() + below(static_cast<std::size_t>(buffer.size()) + 1));
          break;
        case 2:
          if (below(8) != 0) break;
          buffer.own_borrowed(buffer.end(), acknowledged);
          for (auto& text : borrowed) text->assign(text->size(), '!');
          borrowed.clear();
          break;
        default:
          buffer.append(as_bytes(piece));
          all += piece;
      }
      ASSERT_EQ(buffer.end(), all.size());
      const std::uint64_t position = buffer.begin() + below(static_cast<std::size_t>(buffer.size()) + 1);
      ASSERT_EQ(from(buffer, position), all.substr(position));
    }
  }
}

}  // namespace
}  // namespace remotecl
