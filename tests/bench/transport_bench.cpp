// How fast bytes move between two processes of this host: one TCP connection, shared memory, and what copying the same
// bytes once within one process costs, all measured in turns in the same run. Figures for people; asserts nothing.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "measure.h"
#include "runtime/transport/shm/shared_memory.h"
#include "runtime/transport/shm/shared_memory_connection.h"
#include "runtime/transport/tcp/tcp.h"
#include "stream_peer.h"

namespace remotecl::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRoundTrips = 2000;
constexpr std::size_t kTransfers = 25;

// Ends of the connections to one child: a transfer and an echo connection each over TCP and over shared memory.
struct Peer {
  std::unique_ptr<Connection> tcp_bulk, tcp_echo, memory_bulk, memory_echo;
};

std::unique_ptr<Connection> checked(std::unique_ptr<Connection> connection) {
  if (dynamic_cast<SharedMemoryConnection*>(connection.get())) return connection;
  throw std::runtime_error("no shared memory between two processes here");
}

int run_child(const Address& address) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto connect = [&] { return tcp::connect(address, 5s); };
  std::vector<std::unique_ptr<Connection>> connections;
  connections.push_back(connect());
  connections.push_back(connect());
  connections.push_back(checked(shared_memory::accept(connect())));
  connections.push_back(checked(shared_memory::accept(connect())));
  std::vector<std::thread> threads;
  for (const auto& connection : connections) threads.emplace_back([&connection] { serve(*connection); });
  for (auto& thread : threads) thread.join();
  return 0;
}

void show_transfers(const Peer& peer, std::size_t size) {
  std::vector<std::byte> data(size, std::byte{1}), copy(size, std::byte{2});
  std::vector<double> tcp, memory, one_copy;
  for (std::size_t i = 0; i < kTransfers + 1; ++i) {
    const double over_tcp = send(*peer.tcp_bulk, data);
    const double over_memory = send(*peer.memory_bulk, data);
    const Stopwatch watch;
    std::memcpy(copy.data(), data.data(), size);
    const double copied = watch.seconds();
    if (i == 0) continue;  // pages of the peer come into being
    tcp.push_back(over_tcp);
    memory.push_back(over_memory);
    one_copy.push_back(copied);
  }
  const auto speed = [size](const std::vector<double>& seconds) {
    return static_cast<double>(size) / summarize(seconds).median * 1e-9;
  };
  std::printf("%7.2f MiB  tcp %6.2f GB/s   shared memory %6.2f GB/s (%.2f x tcp)   memcpy %6.2f GB/s (%.0f %%)\n",
              static_cast<double>(size) / (1u << 20), speed(tcp), speed(memory), speed(memory) / speed(tcp),
              speed(one_copy), 100 * speed(memory) / speed(one_copy));
}

void show_round_trips(const Peer& peer) {
  begin_echo(*peer.tcp_echo);
  begin_echo(*peer.memory_echo);
  std::vector<double> tcp, memory;
  for (std::size_t i = 0; i < kRoundTrips; ++i) tcp.push_back(round_trip(*peer.tcp_echo));
  for (std::size_t i = 0; i < kRoundTrips; ++i) memory.push_back(round_trip(*peer.memory_echo));
  const Summary over_tcp = summarize(tcp), over_memory = summarize(memory);
  std::printf("   64 bytes  there and back: tcp %.1f us (p99 %.1f)   shared memory %.1f us (p99 %.1f)\n",
              over_tcp.median * 1e6, over_tcp.p99 * 1e6, over_memory.median * 1e6, over_memory.p99 * 1e6);
}

int run(std::size_t ring_bytes) {
  tcp::Listener listener({"127.0.0.1", 0});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_child(listener.address()));
  {
    Peer peer;
    peer.tcp_bulk = listener.accept();
    peer.tcp_echo = listener.accept();
    peer.memory_bulk = checked(shared_memory::offer(listener.accept(), ring_bytes));
    peer.memory_echo = checked(shared_memory::offer(listener.accept(), ring_bytes));
    for (const std::size_t size : {256u << 10, 4u << 20, 64u << 20, 256u << 20}) show_transfers(peer, size);
    show_round_trips(peer);
  }
  ::waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

// transport_bench [ring size in KiB, a power of two]
int main(int argc, char** argv) {
  try {
    using remotecl::SharedMemorySegment;
    return remotecl::bench::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) << 10 : SharedMemorySegment::kRingBytes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "transport_bench: %s\n", error.what());
    return 1;
  }
}
