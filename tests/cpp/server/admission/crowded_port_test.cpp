// Many connections whose other side says nothing, and clients that come meanwhile.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class CrowdedPortTest : public ServerTest {
 protected:
  // From one of this machine's many loopback addresses.
  std::unique_ptr<Connection> connect_from(const char* host) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in from{}, to{};
    from.sin_family = to.sin_family = AF_INET;
    to.sin_port = htons(address().port);
    ::inet_pton(AF_INET, host, &from.sin_addr);
    ::inet_pton(AF_INET, address().host.c_str(), &to.sin_addr);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    EXPECT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return tcp::adopt(descriptor);
  }
};

TEST_F(CrowdedPortTest, OneAddressKeepsNoOtherOut) {
  std::vector<std::unique_ptr<Connection>> silent;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 80; ++i) silent.push_back(connect_from("127.0.0.2"));
    WireClient client(address());
    client.ping();
  }
}

}  // namespace
}  // namespace remotecl::testing
