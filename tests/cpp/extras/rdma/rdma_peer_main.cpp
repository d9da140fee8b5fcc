// The other process of the tests: <port of the test> <task>.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "extras/rdma/rdma_dialer.h"

namespace {

using namespace remotecl;

// Sends until it is killed.
int send(RdmaChannel& channel) {
  std::vector<std::byte> bytes(1u << 20);
  const auto registration = channel.register_memory(bytes);
  while (channel.send(1, {bytes, registration.get()}, RdmaChannel::Use::kBorrowed)) continue;
  return 4;
}

// Says why memory cannot be registered, to a user who has no right to lock more.
int lock_too_much(RdmaChannel& channel) {
  const rlimit limit{1u << 20, 1u << 20};
  std::vector<std::byte> bytes(16u << 20);
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || ::setuid(65534) != 0) return 5;
  try {
    const auto registration = channel.register_memory(bytes);
    std::puts("registered");
  } catch (const ConnectionError& error) {
    std::printf("refused: %s\n", error.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc != 3) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto port = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10));
  const auto channel = dial_rdma({"10.9.0.1", port}, {}, 20s).channel;
  return std::string_view(argv[2]) == "send" ? send(*channel) : lock_too_much(*channel);
}
