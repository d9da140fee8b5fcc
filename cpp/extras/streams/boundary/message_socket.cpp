#include "extras/streams/boundary/message_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace remotecl::plugins {
namespace {

constexpr std::size_t kDescriptorsMax = 16;

// Returns false at `end`.
bool wait_until_readable(int descriptor, std::optional<MessageSocket::Clock::time_point> end) {
  for (;;) {
    int patience_ms = -1;
    if (end) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - MessageSocket::Clock::now()).count();
      if (left <= 0) return false;
      patience_ms = static_cast<int>(std::min<std::int64_t>(left, 1'000'000));
    }
    pollfd wait{descriptor, POLLIN, 0};
    if (::poll(&wait, 1, patience_ms) > 0) return true;
  }
}

std::vector<int> descriptors_of(msghdr& header) {
  std::vector<int> found;
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const std::size_t before = found.size();
    found.resize(before + count);
    std::memcpy(found.data() + before, CMSG_DATA(at), count * sizeof(int));
  }
  return found;
}

}  // namespace

MessageSocket::~MessageSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::pair<MessageSocket, MessageSocket> MessageSocket::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::system_category(), "cannot make a pair of sockets");
  }
  return {MessageSocket(ends[0]), MessageSocket(ends[1])};
}

bool MessageSocket::send(Bytes packet, std::span<const int> descriptors) const {
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsMax * sizeof(int))] = {};
  iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(descriptor_, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(packet.size());
}

std::optional<MessageSocket::Packet> MessageSocket::receive(MutableBytes to,
                                                            std::optional<Clock::time_point> end) const {
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsMax * sizeof(int))];
  iovec part{to.data(), to.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = -1;
  do {
    if (!wait_until_readable(descriptor_, end)) return std::nullopt;
    got = ::recvmsg(descriptor_, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got <= 0) return std::nullopt;
  Packet packet{static_cast<std::size_t>(got), descriptors_of(header)};
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) return packet;
  for (const int each : packet.descriptors) ::close(each);
  return Packet{};
}

}  // namespace remotecl::plugins
