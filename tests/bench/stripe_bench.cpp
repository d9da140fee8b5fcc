// What several connections for one stream bring: bulk data between two processes of this host over one TCP connection,
// and over several at once, in plain text and encrypted, in turns in one run; received in pieces as the daemon receives
// for a device, and in whole chunks. Figures for people; asserts nothing.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "runtime/transport/stream/striped_connection.h"
#include "runtime/transport/tcp/tcp.h"
#include "runtime/transport/tls/tls.h"
#include "support/certificates.h"

namespace remotecl::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kChunk = 4u << 20;
constexpr std::size_t kPieces[] = {256u << 10, 1u << 20, kChunk};

// What comes before a transfer: its size, and in which pieces it is to be received.
struct Request {
  std::uint64_t size, piece;
};

std::unique_ptr<Connection> secured(std::unique_ptr<TlsConnection> connection) {
  if (connection->handshake(std::chrono::steady_clock::now() + 5s) != TlsConnection::Handshake::kDone) {
    throw std::runtime_error(connection->failure());
  }
  return connection;
}

// As many as `make` gives; one is what it is.
template <class Make>
std::unique_ptr<Connection> several(unsigned count, Make&& make) {
  if (count == 1) return make();
  std::vector<std::shared_ptr<Connection>> carriers;
  for (unsigned i = 0; i < count; ++i) carriers.push_back(make());
  return std::make_unique<StripedConnection>(std::move(carriers));
}

void receive(Connection& connection) {
  std::vector<std::byte> memory;
  Request request{};
  while (connection.read_exactly(std::as_writable_bytes(std::span(&request, 1)))) {
    if (memory.size() < request.size) memory.resize(request.size);
    for (std::uint64_t at = 0; at < request.size; at += request.piece) {
      if (!connection.read_exactly({memory.data() + at, std::min(request.piece, request.size - at)})) return;
    }
    if (!connection.write(Bytes(memory).first(1))) return;
  }
}

double send(Connection& connection, Bytes data, std::size_t piece) {
  const Request request{data.size(), piece};
  std::byte confirmed{};
  const Stopwatch watch;
  bool well = connection.write(std::as_bytes(std::span(&request, 1)));
  for (; well && !data.empty(); data = data.subspan(std::min(data.size(), kChunk))) {
    well = connection.write(data.first(std::min(data.size(), kChunk)));
  }
  if (!well || !connection.read_exactly({&confirmed, 1})) throw std::runtime_error("the peer is gone");
  return watch.seconds();
}

int run_child(const Address& address, const KeyPin& pin, const std::vector<unsigned>& counts) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const TlsClient tls({pin, {}, {}, {}});
  std::vector<std::unique_ptr<Connection>> connections;
  for (const unsigned count : counts) {
    connections.push_back(several(count, [&] { return tcp::connect(address, 5s); }));
    connections.push_back(several(count, [&] { return secured(tls.wrap(tcp::connect(address, 5s), address)); }));
  }
  std::vector<std::thread> threads;
  for (const auto& connection : connections) threads.emplace_back([&connection] { receive(*connection); });
  for (auto& thread : threads) thread.join();
  return 0;
}

void show(const std::vector<unsigned>& counts, const std::vector<std::unique_ptr<Connection>>& connections,
          std::size_t size, std::size_t piece) {
  const std::vector<std::byte> data(size, std::byte{1});
  std::vector<std::vector<double>> seconds(connections.size());
  const std::size_t transfers = size > (64u << 20) ? 7 : 15;
  for (std::size_t i = 0; i < transfers + 1; ++i) {
    for (std::size_t each = 0; each < connections.size(); ++each) {
      const double passed = send(*connections[each], data, piece);
      if (i != 0) seconds[each].push_back(passed);  // pages of the peer come into being
    }
  }
  std::printf("%4zu MiB in pieces of %4zu KiB, GB/s:", size >> 20, piece >> 10);
  for (std::size_t each = 0; each < connections.size(); ++each) {
    std::printf("  %u x %s %5.2f", counts[each / 2], each % 2 == 0 ? "TCP" : "TLS",
                static_cast<double>(size) / summarize(seconds[each]).median * 1e-9);
  }
  std::printf("\n");
}

int run(const std::vector<unsigned>& counts) {
  const testing::PrivateFolder folder;
  const auto files = testing::own_certificate(folder, "server");
  tcp::Listener listener({"127.0.0.1", 0});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_child(listener.address(), files.pin, counts));
  {
    const TlsServer tls({files.certificate, files.key, {}});
    std::vector<std::unique_ptr<Connection>> connections;
    for (const unsigned count : counts) {
      connections.push_back(several(count, [&] { return listener.accept(); }));
      connections.push_back(several(count, [&] { return secured(tls.wrap(listener.accept())); }));
    }
    for (const std::size_t size : {1u << 20, 64u << 20, 256u << 20}) {
      for (const std::size_t piece : kPieces) show(counts, connections, size, piece);
    }
  }
  ::waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

// remotecl-stripe-bench [connections ...]
int main(int argc, char** argv) {
  std::vector<unsigned> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)));
  if (counts.empty()) counts = {1, 2, 4, 8};
  for (const unsigned count : counts) {
    if (count >= 1 && count <= remotecl::StripedConnection::kCarriersMax) continue;
    std::fprintf(stderr, "remotecl-stripe-bench: from 1 to 8 connections\n");
    return 2;
  }
  try {
    return remotecl::bench::run(counts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-stripe-bench: %s\n", error.what());
    return 1;
  }
}
