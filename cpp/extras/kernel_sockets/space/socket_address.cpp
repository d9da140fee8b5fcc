#include "extras/kernel_sockets/space/socket_address.h"

#include <sys/un.h>

#include <charconv>

namespace remotecl::server {
namespace {

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

// HOST:PORT or [IPV6]:PORT.
bool parse_host_and_port(std::string_view text, SocketAddress& address) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) return false;
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') return false;
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return false;
  }
  address.host = host;
  return true;
}

}  // namespace

std::string SocketAddress::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::string end = (is_v6 ? "[" + host + "]:" : host + ":") + std::to_string(port);
  switch (kind) {
    case Kind::kTcp:
      return "tcp:" + end;
    case Kind::kUdp:
      return "udp:" + end;
    case Kind::kUnix:
      return "unix:" + host;
    case Kind::kKernel:
      return "rcl:" + host;
  }
  return {};
}

std::optional<SocketAddress> parse_socket_address(std::string_view text) {
  if (text.size() > SocketAddress::kTextMax || !is_printable(text)) return {};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view kind = text.substr(0, colon), rest = text.substr(colon + 1);
  SocketAddress address;
  if (kind == "tcp" || kind == "udp") {
    address.kind = kind == "tcp" ? SocketAddress::Kind::kTcp : SocketAddress::Kind::kUdp;
    if (!parse_host_and_port(rest, address)) return {};
  } else if (kind == "unix") {
    if (rest.empty() || rest.front() != '/' || rest.size() >= sizeof(sockaddr_un::sun_path)) return {};
    address.kind = SocketAddress::Kind::kUnix;
    address.host = rest;
  } else if (kind == "rcl" && !rest.empty()) {
    address.kind = SocketAddress::Kind::kKernel;
    address.host = rest;
  } else {
    return {};
  }
  return address;
}

}  // namespace remotecl::server
