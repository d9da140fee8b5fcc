// The other process of MemoryPeer: <port of the test> <task>.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/transport/shm/shared_memory.h"
#include "runtime/transport/tcp/tcp.h"

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc != 3) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto port = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10));
  const auto connection = remotecl::shared_memory::accept(remotecl::tcp::connect({"127.0.0.1", port}, 5s));
  if (!connection) return 3;
  if (std::string_view(argv[2]) == "silent") {
    for (;;) ::pause();
  }
  std::vector<std::byte> bytes(300'000);
  for (;;) {
    const std::size_t count = connection->read_some(bytes);
    if (count == 0) return 0;
    if (!connection->write(remotecl::Bytes(bytes).first(count))) return 4;
  }
}
