#include "runtime/transport/tcp/dead_peer_detector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "runtime/base/settings.h"
#include "runtime/transport/tcp/stream_connection.h"

namespace remotecl {
namespace {

constexpr int kHeartbeats = 3;

// Whether bytes have been retransmitted and nothing has been acknowledged for this long.
bool is_unanswered(const tcp_info& info, std::chrono::milliseconds limit) {
  return info.tcpi_unacked != 0 && info.tcpi_retransmits > 1 && info.tcpi_last_ack_recv > limit.count();
}

// Whether no bytes have arrived for this long, and all that had arrived were read.
bool is_starved(int descriptor, const tcp_info& info, std::chrono::milliseconds limit) {
  int unread = 0;
  return info.tcpi_last_data_recv > limit.count() && ::ioctl(descriptor, FIONREAD, &unread) == 0 && unread == 0;
}

bool is_on_this_machine(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return true;
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  }
  return address.ss_family != AF_INET6 ||
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

void set(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof value);
}

}  // namespace

std::chrono::seconds heartbeat_interval() {
  static const std::chrono::seconds interval(settings::number("REMOTECL_HEARTBEAT", "seconds", 1, 3600).value_or(5));
  return interval;
}

DeadPeerDetector& DeadPeerDetector::instance() {
  static DeadPeerDetector& peers = *new DeadPeerDetector;  // its thread is never joined
  return peers;
}

void DeadPeerDetector::watch(StreamConnection& connection) {
  const int descriptor = connection.wait_handle();
  const int interval_s = static_cast<int>(heartbeat_interval().count());
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, interval_s);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
  set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kHeartbeats - 1);
  if (!is_on_this_machine(descriptor)) watch_rest(connection);
}

void DeadPeerDetector::watch_rest(StreamConnection& connection) {
  MutexLock lock(mutex_);
  try {
    if (!has_thread_) std::thread([this] { run(); }).detach();
    has_thread_ = true;
  } catch (const std::system_error&) {  // the system's own timeouts remain
  }
  watched_.emplace(&connection, std::nullopt);
}

void DeadPeerDetector::forget(StreamConnection& connection) {
  MutexLock lock(mutex_);
  watched_.erase(&connection);
}

void DeadPeerDetector::run() {
  constexpr int kLooks = 8;
  const auto pause = std::chrono::milliseconds(kHeartbeats * heartbeat_interval()) / kLooks;
  const auto unanswered_limit = pause * (kLooks - 1), starved_limit = pause * (kLooks - 2);
  for (;;) {
    std::this_thread::sleep_for(pause);
    MutexLock lock(mutex_);
    for (auto& [connection, starving] : watched_) {
      const int descriptor = connection->wait_handle();
      tcp_info info{};
      socklen_t size = sizeof info;
      if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
      if (is_unanswered(info, unanswered_limit)) connection->give_up();
      // Requires two looks in a row, because a reader may just have taken the rest and not reported it yet.
      const std::uint64_t received = connection->bytes_received();
      const bool is_starving = connection->awaits_rest() && is_starved(descriptor, info, starved_limit);
      if (is_starving && starving == received) connection->end_writing();
      starving = is_starving ? std::optional(received) : std::nullopt;
    }
  }
}

}  // namespace remotecl
