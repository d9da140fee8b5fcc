#include "extras/kernel_sockets/space/stream_endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "extras/kernel_sockets/space/space_shape.h"

namespace remotecl::server {
namespace {

int get(const Descriptor& socket, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(socket.get(), level, name, &value, &size) == 0 ? value : 0;
}

std::chrono::seconds silence_max(const Descriptor& socket) {
  if (get(socket, SOL_SOCKET, SO_KEEPALIVE) == 0) return {};
  return std::chrono::seconds(get(socket, IPPROTO_TCP, TCP_KEEPIDLE) +
                              get(socket, IPPROTO_TCP, TCP_KEEPCNT) * get(socket, IPPROTO_TCP, TCP_KEEPINTVL));
}

// Kernels copy whole words from aligned places of a ring, and single bytes from others.
constexpr std::uint32_t kAlignment = 64;
static_assert(SpaceShape::kRingBytesMin > kAlignment);

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

StreamEndpoint::StreamEndpoint(Descriptor socket) : socket_(std::move(socket)), silence_max_(silence_max(socket_)) {
  // Fails for a Unix-domain socket, which does not delay.
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Moved StreamEndpoint::send(SendRing& ring) {
  Moved moved;
  while (ring.filled() != 0) {
    iovec pieces[2];
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<std::size_t>(ring.pieces(pieces));
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      moved.is_blocked = would_block(errno);
      if (!moved.is_blocked) moved.error = errno;
      return moved;
    }
    ring.take(static_cast<std::uint32_t>(sent));
    moved.bytes += static_cast<std::uint32_t>(sent);
  }
  return moved;
}

Moved StreamEndpoint::receive(ReceiveRing& ring) {
  Moved moved;
  while (ring.room() >= kAlignment) {
    const std::uint32_t wanted = ring.room() - (ring.tail() + ring.room()) % kAlignment;
    iovec pieces[2];
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<std::size_t>(ring.pieces(pieces, wanted));
    const ssize_t came = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (came < 0) {
      if (errno == EINTR) continue;
      moved.is_blocked = would_block(errno);
      if (!moved.is_blocked) moved.error = errno;
      return moved;
    }
    if (came == 0) {
      moved.has_ended = true;
      return moved;
    }
    ring.put(static_cast<std::uint32_t>(came));
    moved.bytes += static_cast<std::uint32_t>(came);
    // The socket may hold more, because a receive also ends at an urgent byte. The next receive finds out.
    if (static_cast<std::uint32_t>(came) < wanted) return moved;
  }
  return moved;
}

int StreamEndpoint::loss() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (silence_max_.count() == 0 || ::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  // Repeated retransmissions, or repeated probes of a peer without room, mean that it does not answer.
  const bool is_unanswered = info.tcpi_retransmits > 1 || info.tcpi_probes > 1;
  const std::chrono::milliseconds silence(info.tcpi_last_ack_recv);
  return is_unanswered && silence > silence_max_ ? ETIMEDOUT : 0;
}

void StreamEndpoint::shutdown() { ::shutdown(socket_.get(), SHUT_WR); }

}  // namespace remotecl::server
