#include "runtime/transport/tcp/stream_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/transport/tcp/dead_peer_detector.h"

namespace remotecl {

StreamConnection::StreamConnection(int descriptor) : descriptor_(descriptor) {
  DeadPeerDetector::instance().watch(*this);
}

StreamConnection::~StreamConnection() {
  DeadPeerDetector::instance().forget(*this);
  ::close(descriptor_);
}

// Remembers whether the last failed call means that the other machine has vanished.
void StreamConnection::note_error() {
  if (errno == ETIMEDOUT || errno == EHOSTUNREACH || errno == ENETUNREACH) vanished_ = true;
}

void StreamConnection::give_up() {
  vanished_ = true;
  shutdown();
}

void StreamConnection::end_writing() { ::shutdown(descriptor_, SHUT_WR); }

std::size_t StreamConnection::read_some(MutableBytes to) {
  for (;;) {
    const ssize_t count = ::recv(descriptor_, to.data(), to.size(), 0);
    if (count > 0) {
      bytes_received_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
      return static_cast<std::size_t>(count);
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) note_error();
    return 0;  // closed, broken, or silent for longer than the read timeout
  }
}

std::ptrdiff_t StreamConnection::try_read_some(MutableBytes to) {
  const std::ptrdiff_t count = try_receive(to, 0);
  if (count > 0) bytes_received_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
  return count;
}

std::ptrdiff_t StreamConnection::peek(MutableBytes to) { return try_receive(to, MSG_PEEK); }

std::ptrdiff_t StreamConnection::try_receive(MutableBytes to, int flags) {
  for (;;) {
    const ssize_t count = ::recv(descriptor_, to.data(), to.size(), flags | MSG_DONTWAIT);
    if (count > 0) return count;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -1;
    if (count < 0) note_error();
    return 0;
  }
}

bool StreamConnection::write(iovec* parts, int count) {
  while (count > 0) {
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<std::size_t>(count);
    // MSG_NOSIGNAL: a lost peer must fail this call, not send SIGPIPE to somebody else's process.
    const ssize_t sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        pollfd wait{descriptor_, POLLOUT, 0};
        ::poll(&wait, 1, -1);
        continue;
      }
      note_error();
      return false;
    }
    bytes_sent_.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
    auto left = static_cast<std::size_t>(sent);
    while (count > 0 && left >= parts->iov_len) {
      left -= parts->iov_len;
      ++parts;
      --count;
    }
    if (count > 0) {
      parts->iov_base = static_cast<std::byte*>(parts->iov_base) + left;
      parts->iov_len -= left;
    }
  }
  return true;
}

std::ptrdiff_t StreamConnection::try_write(Bytes from) {
  for (;;) {
    const ssize_t sent = ::send(descriptor_, from.data(), from.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes_sent_.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
      return sent;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    note_error();
    return -1;
  }
}

void StreamConnection::set_read_timeout(std::chrono::milliseconds timeout) {
  timeval time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_usec = (timeout.count() % 1000) * 1000;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

void StreamConnection::shutdown() { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace remotecl
