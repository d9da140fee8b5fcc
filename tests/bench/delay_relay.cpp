#include "delay_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace remotecl::bench {
namespace {

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    throw std::invalid_argument(host + " is not a numeric IPv4 address");
  }
  return address;
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

DelayRelay::DelayRelay(const std::string& target, std::chrono::microseconds delay_each_way)
    : host_(target.substr(0, target.rfind(':'))),
      target_port_(static_cast<std::uint16_t>(std::stoi(target.substr(target.rfind(':') + 1)))),
      delay_(delay_each_way) {
  sockaddr_in address = address_of("127.0.0.1", 0);
  socklen_t size = sizeof address;
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0 || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "delay relay");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

DelayRelay::~DelayRelay() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  for (Connection& connection : connections_) {
    ::shutdown(connection.near, SHUT_RDWR);
    ::shutdown(connection.far, SHUT_RDWR);
    for (Line* line : {&connection.forth, &connection.back}) {
      line->reader.join();
      line->writer.join();
    }
    ::close(connection.near);
    ::close(connection.far);
  }
}

void DelayRelay::accept_all() {
  for (;;) {
    const int near = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (near < 0) return;
    const sockaddr_in address = address_of(host_, target_port_);
    const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(far);
      ::close(near);
      continue;
    }
    send_at_once(near);
    send_at_once(far);
    Connection& connection = connections_.emplace_back();
    connection.near = near;
    connection.far = far;
    start(connection.forth, near, far);
    start(connection.back, far, near);
  }
}

void DelayRelay::start(Line& line, int from, int to) {
  line.reader = std::thread([this, &line, from] { read(line, from); });
  line.writer = std::thread([&line, to] { write(line, to); });
}

void DelayRelay::read(Line& line, int from) const {
  std::vector<char> buffer(256u << 10);
  for (bool open = true; open;) {
    const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
    open = count > 0;
    const std::lock_guard lock(line.mutex);
    line.pieces.push_back({Clock::now() + delay_, {buffer.data(), buffer.data() + (open ? count : 0)}});
    line.changed.notify_one();
  }
}

void DelayRelay::write(Line& line, int to) {
  for (;;) {
    Line::Piece piece;
    {
      std::unique_lock lock(line.mutex);
      line.changed.wait(lock, [&line] { return !line.pieces.empty(); });
      piece = std::move(line.pieces.front());
      line.pieces.pop_front();
    }
    std::this_thread::sleep_until(piece.due);
    if (piece.bytes.empty()) {
      ::shutdown(to, SHUT_WR);
      return;
    }
    for (std::size_t sent = 0; sent < piece.bytes.size();) {
      const ssize_t count = ::send(to, piece.bytes.data() + sent, piece.bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;  // the reader of the other direction sees the end
      sent += static_cast<std::size_t>(count);
    }
  }
}

}  // namespace remotecl::bench
