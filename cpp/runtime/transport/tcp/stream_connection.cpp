#include "runtime/transport/tcp/stream_connection.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "runtime/transport/tcp/dead_peer_detector.h"
#include "runtime/transport/tcp/tcp_report.h"

namespace remotecl {

StreamConnection::StreamConnection(int descriptor, TransportKind kind) : descriptor_(descriptor), kind_(kind) {
  timeval time{};
  time.tv_usec = std::chrono::duration_cast<std::chrono::microseconds>(kPaceEvery).count();
  ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
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

// With a limited rate, sends in bursts that each end a record. Otherwise the system would merge what is sent in a row,
// up to 64 KiB, and send it at once where round trips are short, whatever the rate.
std::ptrdiff_t StreamConnection::send_some(const iovec* parts, int count) {
  std::array<iovec, kPartsMax> burst;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  // MSG_NOSIGNAL: a lost peer must fail this call, not send SIGPIPE to somebody else's process.
  int flags = MSG_NOSIGNAL;
  if (const auto limit = pacer_.limit()) {
    auto left = std::max(kBurstMin, static_cast<std::size_t>(*limit * kBurstSeconds));
    message.msg_iov = burst.data();
    message.msg_iovlen = 0;
    for (int i = 0; i < std::min(count, kPartsMax) && left != 0; ++i) {
      const std::size_t size = std::min(left, parts[i].iov_len);
      burst[message.msg_iovlen++] = {parts[i].iov_base, size};
      left -= size;
    }
    flags |= MSG_EOR;
  }
  return ::sendmsg(descriptor_, &message, flags);
}

bool StreamConnection::write(iovec* parts, int count) {
  while (count > 0) {
    const std::ptrdiff_t sent = send_some(parts, count);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        pace();
        pollfd wait{descriptor_, POLLOUT, 0};
        ::poll(&wait, 1, static_cast<int>(kPaceEvery.count()));
        continue;
      }
      note_error();
      return false;
    }
    bytes_sent_.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
    if (pacer_.limit() || sent >= kPacedFrom) pace();
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

void StreamConnection::pace() {
  const auto now = LinkPacer::Clock::now();
  if (now - paced_ < kPaceEvery / 2) return;
  paced_ = now;
  const std::optional<TcpReport> report = TcpReport::of(descriptor_);
  if (!report || report->round_trip_min_us == 0) return;
  const std::optional<double> before = pacer_.limit();
  const double delivered = report->is_limited_by_application() ? 0 : static_cast<double>(report->delivery_rate);
  const auto limit = pacer_.update(
      {now, LinkPacer::Duration(report->first.tcpi_rtt), LinkPacer::Duration(report->round_trip_min_us), delivered});
  if (limit == before) return;
  paced_rate_.store(limit.value_or(0), std::memory_order_relaxed);
  const auto rate = limit ? static_cast<unsigned long>(*limit) : std::numeric_limits<unsigned long>::max();
  ::setsockopt(descriptor_, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
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

Connection::Delivered StreamConnection::delivered() const {
  const std::optional<TcpReport> report = TcpReport::of(descriptor_);
  if (!report) return {};
  const std::uint64_t idle_us = std::min(report->window_limited_us, report->busy_us);
  return {report->bytes_acknowledged, static_cast<double>(report->busy_us - idle_us) * 1e-6,
          static_cast<double>(report->busy_us) * 1e-6};
}

void StreamConnection::shutdown() { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace remotecl
