// What a client learns of the server's network by asking it to connect somewhere.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <future>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// An address of this machine that is not loopback; empty when it has none.
std::string own_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* at = all; at != nullptr && found.empty(); at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, text, sizeof text);
    found = text;
  }
  ::freeifaddrs(all);
  return found;
}

struct ConnectReply {
  std::string text;
  Clock::duration time{};
};

// What the server says of an address that it is to connect to.
ConnectReply ask(WireClient& client, const Address& to, const std::string& name) {
  static LinkId link = 0;
  const PeerAddress address{to.host, to.port};
  const auto begin = Clock::now();
  client.send(ConnectPeer{2, ++link, 1, 1, {}, std::span<const PeerAddress>(&address, 1), {}});
  const auto state = client.wait<PeerState>([](const PeerState& state) { return state.link == link; });
  EXPECT_EQ(state->is_connected, 0u);
  ConnectReply reply{std::string(state->text), Clock::now() - begin};
  const std::size_t at = reply.text.find(to.text());
  EXPECT_NE(at, std::string::npos) << reply.text;
  if (at != std::string::npos) reply.text.replace(at, to.text().size(), name);
  return reply;
}

// Ports of `host` that are open and closed: to who says nothing, to who says something else, and to nobody.
class Ports {
 public:
  explicit Ports(const std::string& host) : silent_({host, 0}), talking_({host, 0}) {
    closed_ = tcp::Listener({host, 0}).address();
    thread_ = std::thread([this] {
      while (const auto connection = talking_.accept())
        connection->write(as_bytes("SSH-2.0-OpenSSH_9.2p1 and more\r\n"));
    });
  }
  ~Ports() {
    talking_.close();
    thread_.join();
  }
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  std::vector<ConnectReply> replies(WireClient& client) const {
    std::vector<ConnectReply> replies;
    for (const Address& to : {silent_.address(), talking_.address(), closed_})
      replies.push_back(ask(client, to, "there"));
    return replies;
  }

 private:
  tcp::Listener silent_, talking_;
  Address closed_;
  std::thread thread_;
};

class ConnectPeerTest : public ServerTest {};

TEST_F(ConnectPeerTest, TellsNothingOfWhoIsNoServer) {
  const Ports ports("127.0.0.1");
  WireClient client(address());
  const auto replies = ports.replies(client);
  for (const ConnectReply& reply : replies) {
    EXPECT_EQ(reply.text, replies.front().text);
    EXPECT_NE(reply.text.find("no server"), std::string::npos) << reply.text;
  }
}

TEST_F(ConnectPeerTest, TellsOthersThanItsOwnMachineNothingByItsTimeEither) {
  const std::string host = own_address();
  if (host.empty()) GTEST_SKIP() << "this machine has no address but loopback";
  server::Server server({host, 0}, "0");
  const Ports ports(host);
  WireClient client(server.address());
  const auto replies = ports.replies(client);
  for (const ConnectReply& reply : replies) {
    EXPECT_EQ(reply.text, replies.front().text);
    EXPECT_LT(std::chrono::abs(reply.time - replies.front().time), 1s);
  }
}

TEST_F(ConnectPeerTest, ConnectsOthersThanItsOwnMachineNotToItself) {
  const std::string host = own_address();
  if (host.empty()) GTEST_SKIP() << "this machine has no address but loopback";
  server::Server server({host, 0}, "0");
  WireClient client(server.address());
  const ConnectReply reply = ask(client, address(), "there");
  EXPECT_NE(reply.text.find("loopback"), std::string::npos) << reply.text;
}

TEST_F(ConnectPeerTest, ConnectsOnlyWhereItsOperatorAllows) {
  const auto port = std::to_string(address().port);
  server::Server server({"127.0.0.1", 0}, "0", {}, {}, {}, std::optional<server::ProcessCommand>(),
                        server::PeerRules({"127.0.0.1:" + port}));
  WireClient client(server.address());
  const Address other = tcp::Listener({"127.0.0.1", 0}).address();
  EXPECT_NE(ask(client, other, "there").text.find("--peers"), std::string::npos);
  EXPECT_NE(ask(client, address(), "there").text.find("refused"), std::string::npos) << "a server, and no such session";
}

TEST_F(ConnectPeerTest, DoesNotConnectToItself) {
  WireClient client(address());
  EXPECT_NE(ask(client, address(), "there").text.find("there is this server itself"), std::string::npos);
}

}  // namespace
}  // namespace remotecl::testing
