// Names, rules and pacing of streams.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <thread>

#include "extras/streams/support/live_source.h"
#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/rules.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {
namespace {

TEST(StreamName, HasPartsAndValues) {
  const StreamName name(std::string_view("file:/a b?rate=2.5&policy=newest\0rest", 37));
  EXPECT_EQ(name.scheme(), "file");
  EXPECT_EQ(name.place(), "/a b");
  EXPECT_EQ(name.rate(), 2.5);
  EXPECT_TRUE(name.wants_newest());
  EXPECT_EQ(name.number("depth", 4, 1, 8), 4u);
  EXPECT_THROW(name.allow_keys({"rate"}), PluginError);
}

TEST(StreamName, KeepsTheQuestionsOfAnAddress) {
  const StreamName name("rtsp://host/live?user=1");
  EXPECT_EQ(name.place(), "//host/live?user=1");
}

TEST(StreamName, RefusesWrongValues) {
  for (const char* const text : {"file:/x?rate=-1", "file:/x?rate=nan", "file:/x?rate=1x"}) {
    EXPECT_THROW(StreamName(text).rate(), PluginError) << text;
  }
  EXPECT_THROW(StreamName("file:/x?depth=9").number("depth", 4, 1, 8), PluginError);
  EXPECT_THROW(StreamName("nothing"), PluginError);
}

bool allows(const Rules& rules, const char* address, int port) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  const bool is_four = ::inet_pton(AF_INET, address, &four.sin_addr) == 1;
  ::inet_pton(AF_INET6, address, &six.sin6_addr);
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(static_cast<std::uint16_t>(port));
  try {
    rules.require_connection(is_four ? reinterpret_cast<const sockaddr&>(four)
                                     : reinterpret_cast<const sockaddr&>(six));
    return true;
  } catch (const PluginError&) {
    return false;
  }
}

TEST(Rules, NameNetworksAndPorts) {
  const Rules rules({"connect:10.0.0.0/9:5000-5010", "connect:192.168.1.1", "connect:[fd00::]/16:80", "connect:bad:x"});
  EXPECT_TRUE(allows(rules, "10.127.255.255", 5010));
  EXPECT_FALSE(allows(rules, "10.128.0.0", 5000));
  EXPECT_FALSE(allows(rules, "10.0.0.1", 5011));
  EXPECT_TRUE(allows(rules, "192.168.1.1", 1));
  EXPECT_FALSE(allows(rules, "192.168.1.2", 1));
  EXPECT_TRUE(allows(rules, "fd00:1::1", 80));
  EXPECT_FALSE(allows(rules, "fd01::1", 80));
  EXPECT_FALSE(allows(Rules({}), "127.0.0.1", 80));
  EXPECT_FALSE(allows(Rules({"connect:"}), "127.0.0.1", 80));
  EXPECT_FALSE(allows(Rules({"connect:127.0.0.1/33"}), "127.0.0.1", 80));
}

TEST(Rules, NamePortsToListenOn) {
  const Rules rules({"listen:5000-5002"});
  EXPECT_NO_THROW(rules.require_listening(5002));
  EXPECT_THROW(rules.require_listening(5003), PluginError);
}

TEST(Rules, NameAddressesByTheirBeginning) {
  const Rules rules({"url:http://host/public/", "url:rtsp://host/exact/../live"});
  for (const char* const allowed :
       {"http://host/public/clip.mp4", "http://host/public/a..b/.hidden", "http://host/public/x?to=/../y",
        "http://host/public/100%25", "http://host/public/%", "rtsp://host/exact/../live"}) {
    EXPECT_NO_THROW(rules.require_address(allowed)) << allowed;
  }
  for (const char* const refused :
       {"http://host/private/x", "http://host/public", "http://host/public/../private/x", "http://host/public/..",
        "http://host/public/%2e%2E/private/x", "http://host/public/.%2e/x", "http://host/public/a/./x",
        "http://host/public/%2e/x", "http://host/public/..%2fprivate/x", "http://host/public/..\\private",
        "http://host/public/..?x", "rtsp://host/exact/../other"}) {
    EXPECT_THROW(rules.require_address(refused), PluginError) << refused;
  }
}

Frame numbered(std::uint8_t number) { return {{std::byte{number}}, {}}; }

TEST(LiveSource, KeepsNoMoreThanItsDepth) {
  std::atomic<int> made{0};
  LiveSource source([&made](bool&) { return numbered(static_cast<std::uint8_t>(++made)); }, false, 3,
                    std::chrono::seconds(5));
  std::byte byte{};
  for (int i = 1; i <= 20; ++i) {
    const FrameInfo info = source.read({&byte, 1});
    EXPECT_EQ(std::to_integer<int>(byte), i);
    EXPECT_EQ(info.dropped, 0u);
    EXPECT_LE(made, i + 4);  // three that are kept, and one on its way
  }
}

TEST(LiveSource, CountsWhatTheNewestReplaces) {
  std::atomic<bool> may_go{false}, is_done{false};
  int number = 0;
  LiveSource source(
      [&](bool& is_over) -> std::optional<Frame> {
        if (number == 1 && !may_go) return std::this_thread::sleep_for(std::chrono::milliseconds(1)), std::nullopt;
        if (number == 100) return is_done = is_over = true, std::nullopt;
        return numbered(static_cast<std::uint8_t>(number++));
      },
      true, 1, std::chrono::seconds(5));
  std::byte byte{};
  EXPECT_EQ(source.read({&byte, 1}).number, 0u);
  may_go = true;
  while (!is_done) std::this_thread::yield();
  const FrameInfo info = source.read({&byte, 1});
  EXPECT_EQ(std::to_integer<int>(byte), 99);
  EXPECT_EQ(info.dropped, 98u);
  EXPECT_EQ(info.number, 99u);
  EXPECT_EQ(source.read({&byte, 1}).flags, kFrameEnd);
}

TEST(LiveSource, PassesOnWhatWentWrong) {
  LiveSource source([](bool&) -> std::optional<Frame> { throw PluginError(kGone, "unplugged"); }, false, 1,
                    std::chrono::seconds(5));
  std::byte byte{};
  EXPECT_THROW(source.read({&byte, 1}), PluginError);
  EXPECT_THROW(source.read({&byte, 1}), PluginError);
}

}  // namespace
}  // namespace remotecl::plugins
