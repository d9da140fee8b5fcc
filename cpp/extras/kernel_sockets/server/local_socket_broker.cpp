#include "extras/kernel_sockets/server/local_socket_broker.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "runtime/transport/connection.h"
#include "runtime/transport/tcp/dead_peer_detector.h"
#include "runtime/transport/tcp/resolver.h"
#include "server/util/descriptor.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kLookUpMax{5000};
constexpr int kNextAddressMs = 1000;  // how long one of several addresses may take to answer
constexpr time_t kBacklogMaxS = 5;    // how long a path's listener may have no room for another connection

using For = SocketRules::For;

// An address as the system's calls take it.
class NativeAddress {
 public:
  explicit NativeAddress(const SocketPeer& peer) {
    if (is_v4(peer.ip)) {
      auto& to = reinterpret_cast<sockaddr_in&>(storage_);
      to.sin_family = AF_INET;
      to.sin_port = htons(peer.port);
      std::memcpy(&to.sin_addr, peer.ip.data() + 12, sizeof to.sin_addr);
      size_ = sizeof to;
    } else {
      auto& to = reinterpret_cast<sockaddr_in6&>(storage_);
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(peer.port);
      std::memcpy(&to.sin6_addr, peer.ip.data(), sizeof to.sin6_addr);
      size_ = sizeof to;
    }
  }
  // REQUIRES: the path fits.
  explicit NativeAddress(const std::string& path) {
    auto& to = reinterpret_cast<sockaddr_un&>(storage_);
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, path.c_str(), path.size() + 1);
    size_ = sizeof to;
  }
  static bool fits(const std::string& path) { return path.size() < sizeof(sockaddr_un::sun_path); }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

std::string text_of(const SocketPeer& peer) {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_v4(peer.ip)) {
    ::inet_ntop(AF_INET, peer.ip.data() + 12, text, sizeof text);
    return std::string(text) + ":" + std::to_string(peer.port);
  }
  ::inet_ntop(AF_INET6, peer.ip.data(), text, sizeof text);
  return "[" + std::string(text) + "]:" + std::to_string(peer.port);
}

std::string words_for(For use, const SocketAddress& address) {
  return (use == For::kConnect ? "connect to " : "bind ") + address.text();
}

Descriptor make_socket(const NativeAddress& address, SocketAddress::Kind kind) {
  const int type = kind == SocketAddress::Kind::kUdp ? SOCK_DGRAM : SOCK_STREAM;
  return Descriptor(::socket(address.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set(const Descriptor& socket, int level, int name, int value) {
  ::setsockopt(socket.get(), level, name, &value, sizeof value);
}

// Sets the options of a TCP socket, or of a listener, from which accepted sockets inherit them. Kernels learn within
// six heartbeats that the machine at the other end has vanished; the proxy looks for what keepalive does not see
// (StreamEndpoint).
void set_options(const Descriptor& socket) {
  const int heartbeat_s = static_cast<int>(heartbeat_interval().count());
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 3 * heartbeat_s);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, heartbeat_s);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// A socket that is connected or connecting, or a negative errno.
int connect_to(const NativeAddress& address, SocketAddress::Kind kind) {
  Descriptor socket = make_socket(address, kind);
  if (!socket.valid()) return -errno;
  if (kind == SocketAddress::Kind::kTcp) set_options(socket);
  if (::connect(socket.get(), address.get(), address.size()) != 0 && errno != EINPROGRESS) return -errno;
  return socket.release();
}

// Connects to a path, with a blocking socket, because only then does the system wait for room in the listener's
// backlog.
int connect_to_path(const NativeAddress& address) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kBacklogMaxS, 0};
  if (!socket.valid() || ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) return -errno;
  while (::connect(socket.get(), address.get(), address.size()) != 0) {
    if (errno != EINTR) return errno == EAGAIN ? -ETIMEDOUT : -errno;
  }
  return ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0 ? -errno : socket.release();
}

// Waits a limited time for the end of an attempt, because there is another address to try. Returns 0 or a negative
// errno.
int await_connected(int socket) {
  pollfd wait{socket, POLLOUT, 0};
  if (::poll(&wait, 1, kNextAddressMs) <= 0) return -ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? -errno : -error;
}

int bind_to(const NativeAddress& address, SocketAddress::Kind kind, int backlog) {
  Descriptor socket = make_socket(address, kind);
  if (!socket.valid()) return -errno;
  if (address.family() == AF_INET6) set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (kind == SocketAddress::Kind::kTcp) {
    set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    set_options(socket);
  }
  // The file's mode is the socket's: only this user may connect, whatever the umask is.
  if (kind == SocketAddress::Kind::kUnix && ::fchmod(socket.get(), S_IRWXU) != 0) return -errno;
  if (::bind(socket.get(), address.get(), address.size()) != 0) return -errno;
  const bool listens = kind != SocketAddress::Kind::kUdp;
  if (listens && ::listen(socket.get(), std::clamp(backlog, 1, SOMAXCONN)) != 0) return -errno;
  return socket.release();
}

// Removes a socket's file that nobody listens to any more, as an earlier kernel may have left it.
void remove_stale(const std::string& path, const NativeAddress& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return;
  const int socket = connect_to(address, SocketAddress::Kind::kUnix);
  if (socket == -ECONNREFUSED) ::unlink(path.c_str());
  const Descriptor closed(socket);
}

}  // namespace

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  if (bound.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return bound.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6&>(bound).sin6_port) : 0;
}

std::vector<SocketPeer> LocalSocketBroker::find(For use, const SocketAddress& address, int& error) {
  const std::string what = words_for(use, address);
  std::vector<SocketPeer> found;
  std::string refused;
  error = -EHOSTUNREACH;
  try {
    for (const Address& each : tcp::resolve({address.host, address.port}, kLookUpMax)) {
      const auto number = ip_number(each.host);
      if (!number) continue;
      const SocketPeer peer{*number, address.port};
      const bool is_own = use == For::kConnect && ports_.has(peer.ip, peer.port);
      if (!is_own && permissions_.allows(use, peer.ip, peer.port, address.host)) {
        found.push_back(peer);
      } else {
        error = -EACCES;
        refused += (refused.empty() ? "" : ", ") + text_of(peer);
      }
    }
  } catch (const ConnectionError&) {
    return found;  // a name that is unknown
  }
  if (!found.empty()) {
    audit_.allowed(what, text_of(found.front()));
  } else if (!refused.empty()) {
    audit_.refused(what, refused);
  }
  return found;
}

bool LocalSocketBroker::allows_path(For use, const SocketAddress& address) {
  const std::string what = words_for(use, address);
  const bool is_allowed = NativeAddress::fits(address.host) && permissions_.allows_path(use, address.host);
  is_allowed ? audit_.allowed(what, "") : audit_.refused(what, "");
  return is_allowed;
}

int LocalSocketBroker::connect(const SocketAddress& address) {
  if (address.kind == SocketAddress::Kind::kUnix) {
    if (!allows_path(For::kConnect, address)) return -EACCES;
    return connect_to_path(NativeAddress(address.host));
  }
  int error = 0;
  const std::vector<SocketPeer> found = find(For::kConnect, address, error);
  for (const SocketPeer& peer : found) {
    error = connect_to(NativeAddress(peer), address.kind);
    if (error < 0 || &peer == &found.back()) continue;
    Descriptor socket(error);
    error = await_connected(socket.get());
    if (error == 0) return socket.release();
  }
  return error;
}

int LocalSocketBroker::bind(const SocketAddress& address, int backlog, std::uint16_t& port) {
  port = 0;
  if (address.kind == SocketAddress::Kind::kUnix) {
    if (!allows_path(For::kBind, address)) return -EACCES;
    const NativeAddress native(address.host);
    remove_stale(address.host, native);
    return bind_to(native, address.kind, backlog);
  }
  int error = 0;
  const std::vector<SocketPeer> found = find(For::kBind, address, error);
  if (found.empty()) return error;
  const int socket = bind_to(NativeAddress(found.front()), address.kind, backlog);
  if (socket >= 0) port = port_of(socket);
  return socket;
}

int LocalSocketBroker::resolve(const SocketAddress& address, SocketPeer& peer) {
  int error = 0;
  const std::vector<SocketPeer> found = find(For::kConnect, address, error);
  if (found.empty()) return error;
  peer = found.front();
  return 0;
}

}  // namespace remotecl::server
