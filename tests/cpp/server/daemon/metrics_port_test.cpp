#include "server/daemon/metrics_port.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/transport/tcp/tcp.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

TEST(MetricsPort, ConnectionsThatSayNothingKeepNobodyOut) {
  server::MetricsPort port(Address{"127.0.0.1", 0}, [] { return std::string("counters\n"); });
  const auto connect = [&port] { return tcp::connect(port.address(), 5s); };
  std::vector<std::unique_ptr<Connection>> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connect());
  const auto asking = connect();
  asking->set_read_timeout(3s);  // those who say nothing may stay for 5 s
  asking->write(as_bytes("GET /metrics HTTP/1.0\r\n\r\n"));
  std::string answer;
  std::array<std::byte, 512> bytes;
  for (std::size_t count = 0; (count = asking->read_some(bytes)) != 0;) answer += as_text(Bytes(bytes).first(count));
  EXPECT_TRUE(answer.starts_with("HTTP/1.0 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\ncounters\n")) << answer;
}

}  // namespace
}  // namespace remotecl::testing
