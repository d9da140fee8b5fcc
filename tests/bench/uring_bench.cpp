// How a socket is best used: blocking send and recv, as remotecl does; epoll with non-blocking calls; io_uring, also
// with a kernel thread that takes submissions (SQPOLL), and with registered memory that is sent without a copy
// (SEND_ZC). Round trips of 64 bytes and transfers of 64 MiB between two processes over TCP on loopback, in turns in
// one run, both ends alike. Figures for people; asserts nothing.
#include <arpa/inet.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "measure.h"

namespace remotecl::bench {
namespace {

constexpr std::size_t kMessage = 64;
constexpr std::size_t kTransfer = 64u << 20;
constexpr std::size_t kChunk = 4u << 20;
constexpr std::size_t kRounds = 5, kRoundTrips = 1000, kTransfers = 4;

using Memory = std::span<std::byte>;

[[noreturn]] void fail(const char* what, int error) { throw std::system_error(error, std::generic_category(), what); }

// Moves some bytes, blocking until there are some. 0: the peer has closed.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual std::size_t send(Memory from) = 0;
  virtual std::size_t receive(Memory to) = 0;

  bool send_all(Memory from) {
    return all(from, [this](Memory rest) { return send(rest); });
  }
  bool receive_all(Memory to) {
    return all(to, [this](Memory rest) { return receive(rest); });
  }

 private:
  template <class Move>
  static bool all(Memory memory, Move move) {
    while (!memory.empty()) {
      const std::size_t count = move(memory);
      if (count == 0) return false;
      memory = memory.subspan(count);
    }
    return true;
  }
};

class Blocking final : public Channel {
 public:
  explicit Blocking(int socket) : socket_(socket) {}
  std::size_t send(Memory from) override { return moved(::send(socket_, from.data(), from.size(), MSG_NOSIGNAL)); }
  std::size_t receive(Memory to) override { return moved(::recv(socket_, to.data(), to.size(), 0)); }

 private:
  static std::size_t moved(ssize_t count) { return count < 0 ? 0 : static_cast<std::size_t>(count); }
  const int socket_;
};

class Epoll final : public Channel {
 public:
  explicit Epoll(int socket) : socket_(socket), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    ::fcntl(socket_, F_SETFL, O_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket_, &event) != 0) fail("epoll_ctl", errno);
  }
  ~Epoll() override { ::close(epoll_); }
  std::size_t send(Memory from) override {
    return move([&] { return ::send(socket_, from.data(), from.size(), MSG_NOSIGNAL); });
  }
  std::size_t receive(Memory to) override {
    return move([&] { return ::recv(socket_, to.data(), to.size(), 0); });
  }

 private:
  template <class Call>
  std::size_t move(Call call) {
    for (;;) {
      const ssize_t count = call();
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EAGAIN) return 0;
      epoll_event event{};
      ::epoll_wait(epoll_, &event, 1, -1);
    }
  }
  const int socket_, epoll_;
};

// One operation at a time, as a stream that is used by one thread has.
class Uring : public Channel {
 public:
  Uring(int socket, unsigned flags) : socket_(socket) {
    io_uring_params parameters{};
    parameters.flags = flags;
    parameters.sq_thread_idle = 2;  // ms
    const int error = io_uring_queue_init_params(8, &ring_, &parameters);
    if (error < 0) fail("io_uring_queue_init_params", -error);
  }
  ~Uring() override { io_uring_queue_exit(&ring_); }
  std::size_t send(Memory from) override {
    io_uring_prep_send(io_uring_get_sqe(&ring_), socket_, from.data(), from.size(), MSG_NOSIGNAL | MSG_WAITALL);
    return complete();
  }
  std::size_t receive(Memory to) override {
    // Whole chunks at once; a blocking recv() returns with what is there.
    io_uring_prep_recv(io_uring_get_sqe(&ring_), socket_, to.data(), to.size(), MSG_WAITALL);
    return complete();
  }

 protected:
  std::size_t complete() {
    io_uring_submit_and_wait(&ring_, 1);
    std::size_t count = 0;
    for (bool more = true; more;) {
      io_uring_cqe* entry = nullptr;
      if (io_uring_wait_cqe(&ring_, &entry) < 0) return 0;
      if ((entry->flags & IORING_CQE_F_NOTIF) == 0) count = entry->res < 0 ? 0 : static_cast<std::size_t>(entry->res);
      // Of what is sent without a copy another entry tells that the memory is free.
      more = (entry->flags & IORING_CQE_F_MORE) != 0;
      io_uring_cqe_seen(&ring_, entry);
    }
    return count;
  }
  const int socket_;
  io_uring ring_{};
};

class ZeroCopy final : public Uring {
 public:
  ZeroCopy(int socket, Memory memory) : Uring(socket, 0), memory_(memory) {
    const iovec registered{memory.data(), memory.size()};
    const int error = io_uring_register_buffers(&ring_, &registered, 1);
    if (error < 0) fail("io_uring_register_buffers", -error);
  }
  std::size_t send(Memory from) override {
    if (from.data() < memory_.data() || from.data() >= memory_.data() + memory_.size()) return Uring::send(from);
    io_uring_prep_send_zc_fixed(io_uring_get_sqe(&ring_), socket_, from.data(), from.size(), MSG_NOSIGNAL | MSG_WAITALL,
                                0, 0);
    return complete();
  }

 private:
  const Memory memory_;
};

struct Way {
  const char* name;
  std::function<std::unique_ptr<Channel>(int socket, Memory memory)> make;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"blocking", [](int socket, Memory) { return std::make_unique<Blocking>(socket); }},
      {"epoll", [](int socket, Memory) { return std::make_unique<Epoll>(socket); }},
      {"io_uring", [](int socket, Memory) { return std::make_unique<Uring>(socket, 0); }},
      {"io_uring, SQPOLL", [](int socket, Memory) { return std::make_unique<Uring>(socket, IORING_SETUP_SQPOLL); }},
      {"io_uring, SEND_ZC", [](int socket, Memory memory) { return std::make_unique<ZeroCopy>(socket, memory); }}};
  return all;
}

// The peer: echoes messages and confirms transfers, as the first byte of each says.
void serve(Channel& channel, Memory memory) {
  std::byte message[kMessage];
  while (channel.receive_all(message)) {
    if (message[0] == std::byte{1}) {
      for (std::size_t at = 0; at < kTransfer; at += kChunk) {
        if (!channel.receive_all(memory.subspan(at, kChunk))) return;
      }
    }
    if (!channel.send_all(message)) return;
  }
}

double exchange(Channel& channel, Memory data) {
  std::byte message[kMessage] = {};
  if (!data.empty()) message[0] = std::byte{1};
  const Stopwatch watch;
  bool well = channel.send_all(message);
  for (std::size_t at = 0; well && at < data.size(); at += kChunk) well = channel.send_all(data.subspan(at, kChunk));
  if (!well || !channel.receive_all(message)) throw std::runtime_error("the peer is gone");
  return watch.seconds();
}

int connected(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), size) != 0) fail("connect", errno);
  return socket;
}

int at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

int run_child(int listener) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<std::thread> threads;
  for (const Way& way : ways()) {
    threads.emplace_back([&way, socket = at_once(connected(listener))] {
      std::vector<std::byte> memory(kTransfer);
      serve(*way.make(socket, memory), memory);
    });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}

int run() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind", errno);
  if (::listen(listener, 16) != 0) fail("listen", errno);
  if (::fork() == 0) ::_exit(run_child(listener));
  std::vector<std::byte> data(kTransfer, std::byte{1});
  std::vector<int> sockets;
  std::vector<std::unique_ptr<Channel>> channels;
  for (const Way& way : ways()) {
    sockets.push_back(at_once(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)));
    channels.push_back(way.make(sockets.back(), data));
  }
  std::vector<std::vector<double>> trips(channels.size()), transfers(channels.size());
  for (std::size_t round = 0; round < kRounds + 1; ++round) {
    for (std::size_t i = 0; i < channels.size(); ++i) {
      for (std::size_t k = 0; k < kRoundTrips; ++k) {
        const double seconds = exchange(*channels[i], {});
        if (round != 0) trips[i].push_back(seconds);  // the first round warms up
      }
      for (std::size_t k = 0; k < kTransfers; ++k) {
        const double seconds = exchange(*channels[i], data);
        if (round != 0) transfers[i].push_back(seconds);
      }
    }
  }
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Summary trip = summarize(trips[i]);
    std::printf("%-18s  64 bytes there and back %6.1f us (p99 %6.1f)   64 MiB %5.2f GB/s\n", ways()[i].name,
                trip.median * 1e6, trip.p99 * 1e6, kTransfer / summarize(transfers[i]).median * 1e-9);
  }
  channels.clear();
  for (const int socket : sockets) ::close(socket);
  ::wait(nullptr);
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main() {
  try {
    return remotecl::bench::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-uring-bench: %s\n", error.what());
    return 1;
  }
}
