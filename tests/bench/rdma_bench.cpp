// What a channel over RDMA carries between two processes, and TCP between the same addresses: 16 MiB in chunks of 1
// MiB, and half of the round trip of 8 bytes. Prints "<MB/s> <us>". Usage: remotecl-rdma-bench rdma|tcp ADDRESS
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "extras/rdma/rdma_dialer.h"
#include "extras/rdma/rdma_listener.h"

namespace {

using namespace remotecl;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunk = 1u << 20;
constexpr std::size_t kTotal = 16 * kChunk;
constexpr std::uint16_t kPort = 18600;
constexpr int kRoundTrips = 1000;

// One side of either transport.
class Side {
 public:
  virtual ~Side() = default;
  virtual void send(std::uint64_t transfer) = 0;
  virtual void receive(std::uint64_t transfer) = 0;
  virtual void ping() = 0;  // sends 8 bytes
  virtual void pong() = 0;  // receives them
};

void check(bool is_good, const char* what) {
  if (is_good) return;
  std::perror(what);
  std::_Exit(1);
}

class RdmaSide final : public Side {
 public:
  RdmaSide(bool is_server, const std::string& host) {
    if (is_server) {
      RdmaListener listener({host, kPort});
      channel_ = listener.next()->accept({});
    } else {
      for (int attempt = 0; channel_ == nullptr; ++attempt) channel_ = try_to_dial(host, attempt);
    }
    registration_ = channel_->register_memory(bytes_);
  }
  void send(std::uint64_t transfer) override {
    for (std::size_t at = 0; at < kTotal; at += kChunk) {
      const RdmaSource chunk{Bytes(bytes_).subspan(at, kChunk), registration_.get()};
      check(channel_->send(transfer, chunk, RdmaChannel::Use::kBorrowed), "send");
    }
    channel_->reclaim(channel_->bytes_sent());
  }
  void receive(std::uint64_t transfer) override {
    channel_->announce(transfer, {bytes_, registration_.get()});
    channel_->expect(transfer, kTotal);
    check(channel_->receive({MutableBytes(bytes_).first(kTotal), registration_.get()}), "receive");
  }
  void ping() override {
    check(channel_->send(kPings + ++pings_, {Bytes(bytes_).first(8), registration_.get()}, RdmaChannel::Use::kCopied),
          "send");
  }
  void pong() override {
    channel_->expect(kPings + ++pongs_, 8);
    check(channel_->receive({MutableBytes(bytes_).first(8), registration_.get()}), "receive");
  }

 private:
  static constexpr std::uint64_t kPings = 1u << 20;  // transfers from here on

  // The other process may not listen yet.
  static std::unique_ptr<RdmaChannel> try_to_dial(const std::string& host, int attempt) {
    try {
      return dial_rdma({host, kPort}, {}, std::chrono::seconds(10)).channel;
    } catch (const ConnectionError& error) {
      check(attempt < 20, error.what());
      ::poll(nullptr, 0, 100);
      return nullptr;
    }
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(kTotal);
  std::unique_ptr<RdmaChannel> channel_;
  std::unique_ptr<RegisteredMemory> registration_;
  std::uint64_t pings_ = 0, pongs_ = 0;
};

class TcpSide final : public Side {
 public:
  TcpSide(bool is_server, const std::string& host) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(kPort);
    ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    const int one = 1;
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (is_server) {
      const int listener = socket_;
      ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
      check(::bind(listener, at, sizeof(address)) == 0 && ::listen(listener, 1) == 0, "listen");
      socket_ = ::accept(listener, nullptr, nullptr);
    } else {
      for (int attempt = 0; ::connect(socket_, at, sizeof(address)) != 0; ++attempt) {
        check(attempt < 100, "connect");
        ::poll(nullptr, 0, 100);
        ::close(socket_);
        socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
      }
    }
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  }
  void send(std::uint64_t) override { check(::send(socket_, bytes_.data(), kTotal, 0) == kTotal, "send"); }
  void receive(std::uint64_t) override { receive_bytes(kTotal); }
  void ping() override { check(::send(socket_, bytes_.data(), 8, 0) == 8, "send"); }
  void pong() override { receive_bytes(8); }

 private:
  void receive_bytes(std::size_t size) {
    check(::recv(socket_, bytes_.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size), "recv");
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(kTotal);
  int socket_;
};

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void measure(Side& side) {
  double transfer = 0;
  for (std::uint64_t round = 0; round < 2; ++round) {  // the first one warms up
    side.pong();
    const auto start = Clock::now();
    side.send(round);
    side.pong();
    transfer = microseconds_since(start);
  }
  const auto start = Clock::now();
  for (int i = 0; i < kRoundTrips; ++i) {
    side.ping();
    side.pong();
  }
  std::printf("%.1f %.1f\n", kTotal / transfer, microseconds_since(start) / kRoundTrips / 2);
}

void serve(Side& side) {
  for (std::uint64_t round = 0; round < 2; ++round) {
    side.ping();
    side.receive(round);
    side.ping();
  }
  for (int i = 0; i < kRoundTrips; ++i) {
    side.pong();
    side.ping();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const pid_t server = ::fork();
  const bool is_server = server == 0;
  std::unique_ptr<Side> side;
  if (std::string_view(argv[1]) == "rdma") {
    side = std::make_unique<RdmaSide>(is_server, argv[2]);
  } else {
    side = std::make_unique<TcpSide>(is_server, argv[2]);
  }
  if (is_server) {
    serve(*side);
    std::_Exit(0);
  }
  measure(*side);
  int status = 0;
  ::waitpid(server, &status, 0);
  return status;
}
