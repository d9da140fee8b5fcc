#include "extras/streams/support/socket.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

constexpr int kReceiveBuffer = 4 << 20;  // bytes: a frame's datagrams come at once

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Found look_up(const std::string& address, int type, bool is_passive) {
  const std::size_t colon = address.rfind(':');
  std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
  const std::string port = colon == std::string::npos ? address : address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (!is_passive && host.empty()) throw PluginError(kWrongName, "\"" + address + "\" is no HOST:PORT");
  addrinfo hints{};
  hints.ai_socktype = type;
  hints.ai_flags = is_passive ? AI_PASSIVE | AI_NUMERICSERV : AI_NUMERICSERV;
  if (is_passive && host.empty()) hints.ai_family = AF_INET;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) throw PluginError(kWrongName, "\"" + address + "\": " + ::gai_strerror(error));
  return {found, &::freeaddrinfo};
}

File make_socket(const addrinfo& at) {
  File socket(::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol));
  if (socket.get() < 0) throw PluginError(kGone, std::string("no socket: ") + std::strerror(errno));
  return socket;
}

}  // namespace

bool wait_for_socket(int socket, short events, std::chrono::milliseconds time) {
  pollfd wait{socket, events, 0};
  return ::poll(&wait, 1, static_cast<int>(time.count())) > 0;
}

File connect_socket(const Rules& rules, const std::string& address, int type, std::chrono::milliseconds patience) {
  const Found found = look_up(address, type, false);
  rules.require_connection(*found->ai_addr);
  File socket = make_socket(*found);
  int error = ::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait_for_socket(socket.get(), POLLOUT, patience)) {
      error = ETIMEDOUT;
    } else {
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error != 0) throw PluginError(kGone, "connecting to " + address + ": " + std::strerror(error));
  return socket;
}

File listen_socket(const Rules& rules, const std::string& address, int type) {
  const Found found = look_up(address, type, true);
  const std::size_t colon = address.rfind(':');
  rules.require_listening(
      static_cast<std::uint16_t>(std::atoi(address.c_str() + (colon == std::string::npos ? 0 : colon + 1))));
  File socket = make_socket(*found);
  const int yes = 1;
  if (type == SOCK_STREAM) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      (type == SOCK_STREAM && ::listen(socket.get(), 1) != 0)) {
    throw PluginError(kGone, "listening on " + address + ": " + std::strerror(errno));
  }
  return socket;
}

}  // namespace remotecl::plugins
