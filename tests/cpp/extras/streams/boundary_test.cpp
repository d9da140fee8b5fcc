// What passes between the daemon and a plugin's process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "extras/streams/boundary/call.h"
#include "extras/streams/boundary/description.h"
#include "extras/streams/boundary/message_socket.h"

namespace remotecl::plugins {
namespace {

PluginDescription example() {
  const ArgumentDescription buffer{"frame", "uchar*", ArgumentKind::kOutput, 1};
  const ArgumentDescription value{"times", "int", ArgumentKind::kValue, 4};
  return {{{"a device", {{"test.one", {buffer, value}}, {"test.two", {}}}}}};
}

TEST(Description, SurvivesItsEncoding) { EXPECT_EQ(decode_description(encode(example())), example()); }

TEST(Description, IsRefusedWhereverItEnds) {
  const auto bytes = encode(example());
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    EXPECT_THROW(decode_description(Bytes(bytes).first(count)), std::invalid_argument) << count;
  }
}

TEST(Description, HasBounds) {
  auto plugin = example();
  plugin.devices[0].kernels[0].name = "two;names";
  EXPECT_THROW(decode_description(encode(plugin)), std::invalid_argument);
  plugin = example();
  plugin.devices[0].kernels[0].arguments[1].bytes = 65;
  EXPECT_THROW(decode_description(encode(plugin)), std::invalid_argument);
  plugin = example();
  plugin.devices.resize(17, plugin.devices[0]);
  EXPECT_THROW(decode_description(encode(plugin)), std::invalid_argument);
}

Bytes bytes_of(const ReplyMessage& reply) { return std::as_bytes(std::span(&reply, 1)); }

TEST(Reply, IsOnlyThatOfItsCall) {
  const ReplyMessage reply = make_reply(7, {-61, "too small"});
  EXPECT_FALSE(read_reply(bytes_of(reply), 8));
  EXPECT_FALSE(read_reply(bytes_of(reply).first(20), 7));
  const auto outcome = read_reply(bytes_of(reply), 7);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, -61);
  EXPECT_EQ(outcome->why, "too small");
}

TEST(Reply, BecomesAnErrorOfOpenClWithAPrintableCause) {
  ReplyMessage reply{1, 12345, {}};
  std::memset(reply.why, '\n', sizeof reply.why);
  const auto outcome = read_reply(bytes_of(reply), 1);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, -5);
  EXPECT_EQ(outcome->why, std::string(REMOTECL_PLUGIN_WHY_MAX, '?'));
}

TEST(MessageSocket, KeepsPacketsApart) {
  const auto [one, other] = MessageSocket::make();
  const std::byte bytes[3] = {};
  std::byte room[2];
  ASSERT_TRUE(one.send(Bytes(bytes).first(1)));
  ASSERT_TRUE(one.send(bytes));
  EXPECT_EQ(other.receive(room)->size, 1u);
  EXPECT_EQ(other.receive(room)->size, 0u);  // too large
  EXPECT_FALSE(other.receive(room, MessageSocket::Clock::now() + std::chrono::milliseconds(10)));
}

}  // namespace
}  // namespace remotecl::plugins
