#include "support/fault_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace remotecl::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_to(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

void send_at_once(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool write_all(int descriptor, const std::byte* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(descriptor, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

}  // namespace

FaultRelay::FaultRelay(const std::string& target, const Faults& faults)
    : target_port_(static_cast<std::uint16_t>(std::stoi(target.substr(target.rfind(':') + 1)))), faults_(faults) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the relay cannot listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

FaultRelay::~FaultRelay() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Link& link : links_) end(link);
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (Link& link : links_) {
    end(link);
    link.forth.join();
    if (link.back.joinable()) link.back.join();
    ::close(link.near);
    if (link.far >= 0) ::close(link.far);
  }
  ::close(listener_);
}

void FaultRelay::end(Link& link) {
  ::shutdown(link.near, SHUT_RDWR);
  if (link.far >= 0) ::shutdown(link.far, SHUT_RDWR);
}

int FaultRelay::cut_peers() {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (Link& link : links_) {
    if (!link.between_servers || link.cut) continue;
    link.cut = true;
    end(link);
    ++count;
  }
  return count;
}

void FaultRelay::accept_all() {
  for (std::uint64_t number = 0;; ++number) {
    const int near = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (near < 0) return;
    send_at_once(near);
    const std::lock_guard lock(mutex_);
    Link& link = links_.emplace_back();
    link.near = near;
    link.forth = std::thread([this, &link, seed = faults_.seed + 2 * number] { serve(link, seed); });
  }
}

void FaultRelay::serve(Link& link, std::uint64_t seed) {
  // Who connects says first what the connection is for.
  std::array<std::byte, kHelloSize> bytes;
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t more = ::recv(link.near, bytes.data() + got, bytes.size() - got, 0);
    if (more <= 0) return;
    got += static_cast<std::size_t>(more);
  }
  const auto hello = decode_frame<Hello>(bytes);
  const int far = connect_to(target_port_);
  {
    const std::lock_guard lock(mutex_);
    link.between_servers = hello.role == Role::kPeerControl || hello.role == Role::kPeerBulk;
    link.far = far;
    if (far < 0 || stopping_) return end(link);
    send_at_once(far);
    link.back = std::thread([this, &link, seed] { pump(link.far, link.near, seed + 1); });
  }
  if (write_all(far, bytes.data(), bytes.size())) pump(link.near, far, seed);
}

void FaultRelay::pump(int from, int to, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  std::vector<std::byte> chunk(256u << 10);
  for (;;) {
    const ssize_t got = ::recv(from, chunk.data(), chunk.size(), 0);
    if (got <= 0) break;
    const auto size = static_cast<std::size_t>(got);
    for (std::size_t at = 0; at < size;) {
      std::size_t piece = size - at;
      if (below(4) == 0) piece = std::min<std::size_t>(piece, 1 + below(below(2) == 0 ? 24 : 8000));
      if (below(8) == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(below(1 + faults_.delay_max.count())));
      }
      if (!write_all(to, chunk.data() + at, piece)) return;
      at += piece;
    }
  }
  ::shutdown(to, SHUT_WR);
}

}  // namespace remotecl::testing
