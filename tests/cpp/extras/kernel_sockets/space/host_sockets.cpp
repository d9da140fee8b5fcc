#include "extras/kernel_sockets/space/host_sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace remotecl::testing {
namespace {

using server::Descriptor;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

Descriptor make(int family, int type) {
  Descriptor socket(::socket(family, type | SOCK_CLOEXEC, 0));
  if (!socket.valid()) fail("socket");
  const timeval limit{10, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  if (family == AF_INET && type == SOCK_STREAM) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr_un at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

template <class Address>
void bind(const Descriptor& socket, const Address& address) {
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
}

template <class Address>
void connect(const Descriptor& socket, const Address& address) {
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) fail("getsockname");
  return ntohs(own.sin_port);
}

}  // namespace

Descriptor connect_to(std::uint16_t port) {
  Descriptor socket = make(AF_INET, SOCK_STREAM);
  connect(socket, loopback(port));
  return socket;
}

Descriptor connect_to_path(const std::string& path) {
  Descriptor socket = make(AF_UNIX, SOCK_STREAM);
  connect(socket, at_path(path));
  return socket;
}

Descriptor listen_on_loopback(std::uint16_t& port) {
  Descriptor socket = make(AF_INET, SOCK_STREAM);
  bind(socket, loopback(0));
  if (::listen(socket.get(), 1024) != 0) fail("listen");
  port = port_of(socket);
  return socket;
}

Descriptor listen_on_path(const std::string& path) {
  Descriptor socket = make(AF_UNIX, SOCK_STREAM);
  bind(socket, at_path(path));
  if (::listen(socket.get(), 1024) != 0) fail("listen");
  return socket;
}

Descriptor accept_from(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) fail("accept");
  const timeval limit{10, 0};
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

Descriptor udp_socket(std::uint16_t& port) {
  Descriptor socket = make(AF_INET, SOCK_DGRAM);
  bind(socket, loopback(0));
  port = port_of(socket);
  return socket;
}

void send_all(const Descriptor& socket, const void* data, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(data);
  while (size != 0) {
    const ssize_t sent = ::send(socket.get(), at, size, MSG_NOSIGNAL);
    if (sent < 0) fail("send");
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

std::size_t receive_all(const Descriptor& socket, void* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t came = ::recv(socket.get(), static_cast<std::byte*>(data) + done, size - done, 0);
    if (came < 0) fail("recv");
    if (came == 0) break;
    done += static_cast<std::size_t>(came);
  }
  return done;
}

std::string receive_until_end(const Descriptor& socket) {
  std::string all;
  char piece[65536];
  while (true) {
    const ssize_t came = ::recv(socket.get(), piece, sizeof piece, 0);
    if (came < 0) fail("recv");
    if (came == 0) return all;
    all.append(piece, static_cast<std::size_t>(came));
  }
}

std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(seed >> 24);
  }
  return bytes;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace remotecl::testing
