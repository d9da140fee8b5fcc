#include "runtime/protocol/message_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl {
namespace {

void feed(MessageBuffer& buffer, Bytes bytes) {
  while (!bytes.empty()) {
    const MutableBytes space = buffer.space();
    ASSERT_FALSE(space.empty());
    const std::size_t count = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), count);
    buffer.commit(count);
    bytes = bytes.subspan(count);
  }
}

TEST(MessageBuffer, CutsMessagesHoweverTheyArrive) {
  ByteBuffer stream;
  for (Token token = 0; token < 1000; ++token) append_message(stream, Ping{token});
  for (const std::size_t piece : {1, 7, 16, 100, 100'000}) {
    SCOPED_TRACE(piece);
    MessageBuffer buffer;
    Token expected = 0;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      feed(buffer, stream.bytes().subspan(at, std::min(piece, stream.size() - at)));
      std::uint16_t code = 0;
      Bytes payload;
      while (buffer.next(code, payload) == MessageBuffer::Next::kMessage) {
        ASSERT_EQ(code, Ping::kCode);
        Ping ping{};
        ASSERT_TRUE(Decoder(payload).read(ping));
        EXPECT_EQ(ping.token, expected++);
      }
    }
    EXPECT_EQ(expected, 1000u);
  }
}

TEST(MessageBuffer, HoldsMessagesLargerThanItsFirstSpace) {
  const std::vector<std::byte> source(10u << 20, std::byte{7});
  ByteBuffer stream;
  append_message(stream, CreateProgramWithSource{1, source});
  append_message(stream, Ping{2});
  MessageBuffer buffer;
  std::uint16_t code = 0;
  Bytes payload;
  Bytes rest = stream.bytes();
  while (!rest.empty()) {
    const MutableBytes space = buffer.space();
    const std::size_t count = std::min({space.size(), rest.size(), std::size_t{300'000}});
    std::memcpy(space.data(), rest.data(), count);
    buffer.commit(count);
    rest = rest.subspan(count);
    if (!rest.empty()) {
      ASSERT_EQ(buffer.next(code, payload), MessageBuffer::Next::kNeedMore);
    }
  }
  ASSERT_EQ(buffer.next(code, payload), MessageBuffer::Next::kMessage);
  CreateProgramWithSource message{};
  ASSERT_TRUE(Decoder(payload).read(message));
  EXPECT_TRUE(std::equal(message.source.begin(), message.source.end(), source.begin(), source.end()));
  EXPECT_EQ(buffer.next(code, payload), MessageBuffer::Next::kMessage);
  EXPECT_EQ(code, Ping::kCode);
  EXPECT_EQ(buffer.next(code, payload), MessageBuffer::Next::kNeedMore);
}

TEST(MessageBuffer, LengthOutOfBoundsBreaksIt) {
  MessageBuffer buffer;
  feed(buffer, encode_frame<MessageHeader, kMessageHeaderSize>({kMessageSizeMax + 1, Ping::kCode, 0}));
  std::uint16_t code = 0;
  Bytes payload;
  EXPECT_EQ(buffer.next(code, payload), MessageBuffer::Next::kBroken);
}

TEST(MessageBuffer, ClaimedLengthCostsNoMemory) {
  MessageBuffer buffer;
  feed(buffer, encode_frame<MessageHeader, kMessageHeaderSize>({kMessageSizeMax, Ping::kCode, 0}));
  std::uint16_t code = 0;
  Bytes payload;
  EXPECT_EQ(buffer.next(code, payload), MessageBuffer::Next::kNeedMore);
  EXPECT_LT(buffer.space().size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace remotecl
